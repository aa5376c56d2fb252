package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// pool reads the layers of an image, several at once and the largest first.
// A layer that the image has twice, or in several platforms, is read once.
type pool struct {
	layers   []Layer                   // to read, each once, largest first
	known    map[string]*layer.Content // by key, from the cache
	kept     kept
	parallel int
	options  layer.Options
	progress *progress
}

// newPool takes the layers of all platforms and looks for them in the cache. Those that
// others read are marked.
func newPool(ctx context.Context, images []SourceImage, opt Options) (*pool, error) {
	p := &pool{parallel: opt.parallel(), known: make(map[string]*layer.Content), kept: kept{opt.Cache, opt.Extractor}}
	budget := limit.NewBudget(opt.Limits)
	layers := distinct(images)
	hits, err := p.kept.get(ctx, layers, budget)
	if err != nil {
		return nil, err
	}
	for _, l := range layers {
		if h, ok := hits[l.key()]; ok {
			p.known[l.key()] = h.content
		} else {
			p.layers = append(p.layers, l)
		}
	}
	for _, img := range images {
		for i := range img.Layers {
			if h, ok := hits[img.Layers[i].key()]; ok {
				img.Layers[i].From = h.from
			}
		}
	}
	slices.SortStableFunc(p.layers, func(a, b Layer) int { return cmp.Compare(b.Size, a.Size) })
	p.progress = newProgress(opt.Progress, p.layers)
	p.options = layer.Options{Scan: opt.Scan, Budget: budget, Seen: p.progress.add}
	return p, nil
}

// distinct returns the layers that can be read, each once.
func distinct(images []SourceImage) (layers []Layer) {
	seen := make(map[string]bool)
	for _, img := range images {
		for _, l := range img.Layers {
			if l.Refused == "" && !seen[l.key()] {
				seen[l.key()] = true
				layers = append(layers, l)
			}
		}
	}
	return layers
}

// layerError says which layer could not be read.
type layerError struct {
	key string
	err error
}

func (e *layerError) Error() string { return e.err.Error() }
func (e *layerError) Unwrap() error { return e.err }

// read returns what the layers hold, by key. After an error it starts no other
// layer, and returns the first error in their order that is a cause.
func (p *pool) read(ctx context.Context) (map[string]*layer.Content, error) {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	defer p.progress.stop()
	contents := make([]*layer.Content, len(p.layers))
	errs := make([]error, len(p.layers))
	queue := make(chan int)
	var workers sync.WaitGroup
	for range min(p.parallel, len(p.layers)) {
		workers.Go(func() {
			for i := range queue {
				if errs[i] = reading.Err(); errs[i] == nil {
					contents[i], errs[i] = p.layers[i].read(reading, p.options)
				}
				if errs[i] != nil {
					cancel()
				} else if w := p.layers[i].walked; w == nil || !w.known {
					p.kept.put(ctx, p.layers[i], contents[i])
				}
				p.progress.layer()
			}
		})
	}
	for i := range p.layers {
		queue <- i
	}
	close(queue)
	workers.Wait()
	if i, err := firstError(errs); err != nil {
		return nil, &layerError{p.layers[i].key(), err}
	}
	for i, l := range p.layers {
		p.known[l.key()] = contents[i]
	}
	return p.known, nil
}

func (l Layer) read(ctx context.Context, opt layer.Options) (*layer.Content, error) {
	if l.walked != nil {
		return l.walked.check(l)
	}
	claim := layer.Claim{Digest: l.Digest, DiffID: l.DiffID, Size: l.Size}
	return layer.Read(ctx, l.Open, claim, opt)
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
