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
	layers   []Layer // to read, each once, largest first
	parallel int
	options  layer.Options
	progress *progress
}

// newPool takes the layers of all platforms.
func newPool(images []SourceImage, opt Options) *pool {
	p := &pool{parallel: opt.parallel()}
	seen := make(map[string]bool)
	for _, img := range images {
		for _, l := range img.Layers {
			if l.Refused == "" && !seen[l.key()] {
				seen[l.key()] = true
				p.layers = append(p.layers, l)
			}
		}
	}
	slices.SortStableFunc(p.layers, func(a, b Layer) int { return cmp.Compare(b.Size, a.Size) })
	p.progress = newProgress(opt.Progress, p.layers)
	p.options = layer.Options{Scan: opt.Scan, Budget: limit.NewBudget(opt.Limits), Seen: p.progress.add}
	return p
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer p.progress.stop()
	contents := make([]*layer.Content, len(p.layers))
	errs := make([]error, len(p.layers))
	queue := make(chan int)
	var workers sync.WaitGroup
	for range min(p.parallel, len(p.layers)) {
		workers.Go(func() {
			for i := range queue {
				if errs[i] = ctx.Err(); errs[i] == nil {
					contents[i], errs[i] = p.layers[i].read(ctx, p.options)
				}
				if errs[i] != nil {
					cancel()
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
	byKey := make(map[string]*layer.Content)
	for i, l := range p.layers {
		byKey[l.key()] = contents[i]
	}
	return byKey, nil
}

func (l Layer) read(ctx context.Context, opt layer.Options) (*layer.Content, error) {
	if l.walked != nil {
		return l.walked.check(l)
	}
	claim := layer.Claim{Digest: l.Digest, DiffID: l.DiffID, Size: l.Size, MediaType: l.MediaType}
	return layer.Read(ctx, l.open, claim, opt)
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
