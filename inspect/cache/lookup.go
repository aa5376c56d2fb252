package cache

import (
	"context"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ccgate/ccgate/inspect/registry"
)

// lookups is how many entries are asked for at a time.
const lookups = 8

// answer is what was found under a key: the bytes of an entry, not yet decoded.
type answer struct {
	raw []byte
	err error
}

// get hands over the entries that are there, in the order of the keys and one at a time.
// Until the registry has answered once, one entry is asked for at a time.
func (s *Shared) get(ctx context.Context, keys []Key, use func(i int, e Entry) error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	find := func(i int) answer { return s.find(ctx, keys[i]) }
	take := func(i int, a answer) {
		if ctx.Err() != nil {
			return
		}
		err := a.err
		if err == nil {
			err = s.take(keys[i], a.raw, func(e Entry) error { return use(i, e) })
		}
		if s.health.judge(err) {
			s.say("%v; what it does not give is read from the image", err)
		}
		if s.health.isGone() {
			cancel()
		}
	}
	done := 0
	for ; done < len(keys) && !s.health.isThere() && !s.health.isGone(); done++ {
		take(done, find(done))
	}
	if !s.health.isGone() {
		ahead(len(keys)-done, lookups, func(i int) answer { return find(done + i) }, func(i int, a answer) { take(done+i, a) })
	}
}

// ahead calls find for 0 to n-1, width of them at a time, and take with each result in order.
func ahead[T any](n, width int, find func(int) T, take func(int, T)) {
	var waiting []chan T
	for i := range n {
		for len(waiting) < min(width, n-i) {
			index, result := i+len(waiting), make(chan T, 1)
			waiting = append(waiting, result)
			go func() { result <- find(index) }()
		}
		take(i, <-waiting[0])
		waiting = waiting[1:]
	}
}

// take decodes an entry and hands it over. One that names an origin was not written by
// who read the layer.
func (s *Shared) take(k Key, raw []byte, use func(Entry) error) error {
	e, err := decode(k, raw)
	switch {
	case err != nil:
	case e.From != "":
		err = fmt.Errorf("%w: it names an origin", errEntry)
	default:
		e.From = s.Name()
		if err = use(e); err != nil {
			err = fmt.Errorf("%w: %w", errEntry, err)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", tag(k), err)
	}
	return nil
}

// find asks for the bytes of an entry. If there is none, the error is a [registry.ErrNotFound].
func (s *Shared) find(ctx context.Context, k Key) answer {
	ctx, cancel := context.WithTimeoutCause(ctx, lookupTime, &lateError{lookupTime})
	defer cancel()
	raw, err := s.fetch(ctx, tag(k))
	var late *lateError
	if err != nil && errors.As(context.Cause(ctx), &late) {
		err = late
	}
	return answer{raw, err}
}

func (s *Shared) fetch(ctx context.Context, tag string) ([]byte, error) {
	_, manifest, err := s.repo.Resolve(ctx, tag)
	if err != nil {
		return nil, err
	}
	raw, d, err := parseArtifact(manifest)
	if err == nil && raw == nil {
		raw, err = s.blob(ctx, d)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tag, err)
	}
	return raw, nil
}

// blob reads an entry that is too large for its manifest. Its absence is damage.
func (s *Shared) blob(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	body, err := s.repo.Blob(ctx, d)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, fmt.Errorf("%w: its bytes are gone", errEntry)
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return readVerified(body, d)
}
