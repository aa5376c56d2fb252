package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// wire makes every request of a Repository, also those for tokens. It keeps
// them inside the border, gives up on silence, and turns answers that refuse
// into errors.
type wire struct {
	base     http.RoundTripper
	border   border
	clock    clock
	stall    time.Duration
	answered atomic.Bool // once: the way to the registry is known to exist
}

// stalledError says that a connection was silent for too long.
type stalledError struct{ after time.Duration }

// Error says how long the silence was.
func (e *stalledError) Error() string { return fmt.Sprintf("no byte came for %s", e.after) }

// RoundTrip implements http.RoundTripper. Against the letter of that interface
// a refusal is an error, so that it reaches the one place that retries through
// whatever lies between, with the header that says when.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	target := w.border.scheme(req.URL)
	if err := w.border.check(target); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	alarm := w.clock.AfterFunc(w.stall, func() { cancel(&stalledError{w.stall}) })
	sent := req.WithContext(ctx)
	sent.URL = target
	resp, err := w.base.RoundTrip(sent)
	alarm.Stop()
	if err != nil {
		err = stalledOr(ctx, err)
		cancel(nil)
		return nil, err
	}
	w.answered.Store(true)
	resp.Request = sent
	resp.Body = &watched{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, alarm: alarm, after: w.stall}
	if resp.StatusCode < 400 || expected(req, resp.StatusCode) {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, newRefusal(target, resp)
}

// expected finds the two refusals that authentication itself asks for: the
// challenge, and the authorization server that knows only one of its protocols.
func expected(req *http.Request, code int) bool {
	return code == http.StatusUnauthorized && req.URL.Path == "/v2/" ||
		code == http.StatusNotFound && req.Method == http.MethodPost
}

// watched is a body that ends with an error when it is silent for too long.
// Only the time inside Read counts: a slow reader is not the server's fault.
type watched struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	alarm  timer
	after  time.Duration
}

// Read implements io.Reader.
func (b *watched) Read(p []byte) (int, error) {
	b.alarm.Reset(b.after)
	n, err := b.ReadCloser.Read(p)
	b.alarm.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = stalledOr(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watched) Close() error {
	b.alarm.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// stalledOr returns why a request ended: the alarm, if it went off, or err.
func stalledOr(ctx context.Context, err error) error {
	var stalled *stalledError
	if errors.As(context.Cause(ctx), &stalled) {
		return stalled
	}
	return err
}
