package inspect

import (
	"errors"
	"fmt"

	"github.com/ccgate/ccgate/inspect/cache"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// kept is the cache of layers, keyed by the digest that was verified when a layer was read
// and by the versions of what read it. Without a directory it holds nothing.
type kept struct {
	dir       *cache.Dir
	extractor string
}

func (k kept) key(l Layer) cache.Key {
	return cache.Key{Digest: l.Digest, Extractor: fmt.Sprintf("%d.%s", layer.CodecVersion, k.extractor)}
}

// get returns nil for a layer that has to be read. What was read already counts as it
// is: its bytes may not be those of its digest. The only error is that of a limit.
func (k kept) get(l Layer, budget *limit.Budget) (*layer.Content, error) {
	if k.dir == nil || l.Digest == "" || l.walked != nil {
		return nil, nil
	}
	data, ok := k.dir.Get(k.key(l))
	if !ok {
		return nil, nil
	}
	c, err := layer.Decode(data, l.Digest, l.Size, budget)
	var over *limit.Error
	if err != nil && !errors.As(err, &over) {
		return nil, nil
	}
	return c, err
}

// put keeps what was read of a layer. That it cannot be kept costs the next run time.
func (k kept) put(l Layer, c *layer.Content) {
	if k.dir == nil || l.Digest == "" || !c.Lasting() {
		return
	}
	if data, err := c.Encode(); err == nil {
		_ = k.dir.Put(k.key(l), data)
	}
}
