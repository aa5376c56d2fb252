package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/ccgate/ccgate/inspect/cache"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// kept is the cache of layers, keyed by the digest that was verified when a layer was read
// and by the versions of what read it. Without tiers it holds nothing.
type kept struct {
	tiers     *cache.Tiers
	extractor string
}

// hit is a layer that the cache has.
type hit struct {
	content *layer.Content
	from    string // the repository that it came from; empty: it was read here
}

func (k kept) key(l Layer) cache.Key {
	return cache.Key{Digest: l.Digest, Extractor: fmt.Sprintf("%d.%s", layer.CodecVersion, k.extractor)}
}

// get returns the layers that need not be read, by their key. What was read already counts
// as it is: its bytes may not be those of its digest. The only error is that of a limit.
func (k kept) get(ctx context.Context, layers []Layer, budget *limit.Budget) (map[string]hit, error) {
	if k.tiers == nil {
		return nil, nil
	}
	var wanted []Layer
	var keys []cache.Key
	for _, l := range layers {
		if l.Digest != "" && l.walked == nil {
			wanted, keys = append(wanted, l), append(keys, k.key(l))
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hits := make(map[string]hit)
	var over error
	k.tiers.Get(ctx, keys, func(i int, e cache.Entry) error {
		if over != nil {
			return nil
		}
		l := wanted[i]
		c, err := layer.Decode(e.Data, l.Digest, l.Size, budget)
		var limited *limit.Error
		if errors.As(err, &limited) {
			over = &layerError{l.key(), err}
			cancel()
			return nil
		}
		if err == nil {
			hits[l.key()] = hit{c, e.From}
		}
		return err
	})
	return hits, over
}

// put keeps what was read of a layer. That it cannot be kept costs the next run time.
func (k kept) put(ctx context.Context, l Layer, c *layer.Content) {
	if k.tiers == nil || l.Digest == "" || !c.Lasting() {
		return
	}
	if data, err := c.Encode(); err == nil {
		k.tiers.Put(ctx, k.key(l), data)
	}
}
