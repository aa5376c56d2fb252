package cache

import "context"

// Tiers are a directory and, behind it, a shared repository. Either may be nil.
type Tiers struct {
	Local  *Dir
	Shared *Shared
}

// Get hands over what is kept under keys, one entry at a time, with the index of its key.
// An error of use says that an entry is of no use, which makes it a miss. What the shared
// repository has is kept in the directory, with its origin.
func (t *Tiers) Get(ctx context.Context, keys []Key, use func(i int, e Entry) error) {
	var missing []Key
	var index []int
	for i, k := range keys {
		if e, ok := t.local(k); ok && use(i, e) == nil {
			continue
		}
		if k.valid() {
			missing, index = append(missing, k), append(index, i)
		}
	}
	if t.Shared == nil {
		return
	}
	t.Shared.get(ctx, missing, func(i int, e Entry) error {
		err := use(index[i], e)
		if err == nil && t.Local != nil {
			_ = t.Local.Put(missing[i], e) // or the next run asks again
		}
		return err
	})
}

// local returns an entry of the directory that was read here, or by the repository in use.
func (t *Tiers) local(k Key) (Entry, bool) {
	if t.Local == nil {
		return Entry{}, false
	}
	e, ok := t.Local.Get(k)
	trusted := e.From == "" || t.Shared != nil && e.From == t.Shared.Name()
	return e, ok && trusted
}

// Put keeps what was read here of a layer whose bytes were verified. That it cannot be kept
// costs the next run time. The shared repository gets it in the background, until [Tiers.Close].
func (t *Tiers) Put(ctx context.Context, k Key, data []byte) {
	raw, err := encode(k, Entry{Data: data})
	if err != nil || !k.valid() {
		return
	}
	if t.Local != nil {
		_ = t.Local.store(k, raw)
	}
	if t.Shared != nil {
		t.Shared.put(ctx, k, raw)
	}
}

// Close waits, not for long, until what was put is written.
func (t *Tiers) Close(ctx context.Context) {
	if t.Shared != nil {
		t.Shared.close(ctx)
	}
}
