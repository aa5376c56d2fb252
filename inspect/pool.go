package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// readLayers reads layers, several at once and the largest first, and returns
// what they hold in their order; a refused layer is nil. On an error it says
// which layer failed: the lowest of those that did not merely stop with it.
func readLayers(ctx context.Context, layers []Layer, opt Options, p *progress) (_ []*layerContent, failed int, _ error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := distinct(layers)
	results := make([]*layerContent, len(layers))
	errs := make([]error, len(layers))
	queue := make(chan int)
	var workers sync.WaitGroup
	for range min(opt.parallel(), len(jobs)) {
		workers.Go(func() {
			for i := range queue {
				if errs[i] = ctx.Err(); errs[i] == nil {
					results[i], errs[i] = readLayer(ctx, layers[i], opt.Scan, opt.Limits, p.add)
				}
				if errs[i] != nil {
					cancel()
				}
			}
		})
	}
	for _, i := range jobs {
		queue <- i
	}
	close(queue)
	workers.Wait()
	if failed, err := firstError(errs); err != nil {
		return nil, failed, err
	}
	share(layers, results)
	return results, 0, nil
}

// distinct returns the indexes of the layers to read, largest first. A layer
// that an image has twice is read once.
func distinct(layers []Layer) []int {
	var jobs []int
	seen := make(map[string]bool)
	for i, l := range layers {
		if l.Refused == "" && !seen[l.key()] {
			seen[l.key()] = true
			jobs = append(jobs, i)
		}
	}
	slices.SortStableFunc(jobs, func(a, b int) int { return cmp.Compare(layers[b].Size, layers[a].Size) })
	return jobs
}

// share gives equal layers the content that was read from the first.
func share(layers []Layer, results []*layerContent) {
	read := make(map[string]*layerContent)
	for i, l := range layers {
		if l.Refused != "" {
			continue
		}
		if results[i] == nil {
			results[i] = read[l.key()]
		}
		read[l.key()] = results[i]
	}
}

// key is equal for layers that are verified against the same values.
func (l Layer) key() string {
	return fmt.Sprintf("%s %s %d %s", l.Digest, l.DiffID, l.Size, l.MediaType)
}

func firstError(errs []error) (int, error) {
	at := -1
	for i, err := range errs {
		switch {
		case err == nil:
		case at < 0, errors.Is(errs[at], context.Canceled) && !errors.Is(err, context.Canceled):
			at = i
		}
	}
	if at < 0 {
		return 0, nil
	}
	return at, errs[at]
}

// progress adds up what several layers read.
type progress struct {
	mu          sync.Mutex
	report      func(done, total int64)
	done, total int64
}

func newProgress(report func(done, total int64), images []SourceImage) *progress {
	p := &progress{report: report}
	for _, img := range images {
		for _, i := range distinct(img.Layers) {
			p.total += img.Layers[i].Size
		}
	}
	return p
}

func (p *progress) add(n int) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += int64(n)
	p.report(p.done, p.total)
}
