package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/ccgate/ccgate/inspect/registry"
)

// writes is how many entries are written at a time.
const writes = 4

// writer writes entries to a registry while layers are being read. After the first failure
// it writes nothing anymore.
type writer struct {
	repo   name.Repository
	pusher *remote.Pusher
	slots  chan struct{}
	grace  time.Duration // for what is left at the end

	pending sync.WaitGroup
	life    context.Context // of all writes
	end     context.CancelFunc

	mu  sync.Mutex
	err error // the first
}

var errTime = errors.New("there was no time left")

func newWriter(repo name.Repository, how registry.Options) (*writer, error) {
	base := how.Transport
	if !how.PlainHTTP {
		base = encrypted{base}
	}
	pusher, err := remote.NewPusher(
		remote.WithTransport(base), remote.WithAuthFromKeychain(how.Keychain), remote.WithUserAgent("ccgate"),
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}), // once
	)
	if err != nil {
		return nil, err
	}
	w := &writer{repo: repo, pusher: pusher, slots: make(chan struct{}, writes), grace: finishTime}
	w.life, w.end = context.WithCancel(context.Background())
	return w, nil
}

// put writes an entry in the background, until ctx ends.
func (w *writer) put(ctx context.Context, tag string, raw []byte) {
	w.pending.Go(func() {
		w.slots <- struct{}{}
		defer func() { <-w.slots }()
		if w.failed() != nil {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(w.life, cancel)()
		if err := w.write(ctx, tag, raw); err != nil {
			w.fail(err)
		}
	})
}

// write writes the blobs before the manifest that names them.
func (w *writer) write(ctx context.Context, tag string, raw []byte) error {
	manifest, err := artifact(raw)
	if err != nil {
		return err
	}
	for _, blob := range []v1.Layer{static.NewLayer(raw, artifactType), static.NewLayer([]byte(emptyConfig), emptyType)} {
		if err := w.pusher.Upload(ctx, w.repo, blob); err != nil {
			return err
		}
	}
	return w.pusher.Put(ctx, w.repo.Tag(tag), document(manifest))
}

// document is a manifest as the library takes it.
type document []byte

// RawManifest implements remote.Taggable.
func (d document) RawManifest() ([]byte, error) { return d, nil }

// MediaType says what it is.
func (document) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// finish waits for what was put, but no longer than its time, and returns the first error.
func (w *writer) finish(ctx context.Context) error {
	done := make(chan struct{})
	go func() { w.pending.Wait(); close(done) }()
	timer := time.NewTimer(w.grace)
	defer timer.Stop()
	select {
	case <-done:
		return w.failed()
	case <-timer.C:
		w.fail(errTime)
	case <-ctx.Done():
		w.fail(ctx.Err())
	}
	w.end()
	<-done
	return w.failed()
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
