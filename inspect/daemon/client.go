package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"
)

// client speaks to one host.
type client struct {
	host      host
	base      *url.URL
	transport *http.Transport
	opt       Options
}

func newClient(h host, opt Options) (*client, error) {
	network, address, base, err := h.locate()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: opt.Stall}
	t := &http.Transport{TLSClientConfig: h.tls, TLSHandshakeTimeout: opt.Stall, DisableCompression: true, ReadBufferSize: 64 << 10}
	if network == "unix" {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		}
	} else {
		t.DialContext, t.Proxy = dialer.DialContext, http.ProxyFromEnvironment
	}
	return &client{host: h, base: base, transport: t, opt: opt}, nil
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// get asks for a path and gives up if the answer does not begin within patience. A daemon does
// not redirect, so no redirect is followed.
func (c *client) get(ctx context.Context, path string, patience time.Duration) (*body, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(path).String(), nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	req.Header.Set("User-Agent", "ccgate")
	b := &body{client: c, ctx: ctx, cancel: cancel}
	alarm := c.opt.after(patience, func() { cancel(&stalledError{patience}) })
	resp, err := c.transport.RoundTrip(req)
	alarm.Stop()
	if err != nil {
		err = b.cause(err)
		cancel(nil)
		return nil, err
	}
	b.rc = resp.Body
	b.alarm = c.opt.after(c.opt.Stall, func() { cancel(&stalledError{c.opt.Stall}) })
	b.alarm.Stop()
	if err := check(resp, b); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// check refuses an answer that is not what was asked for.
func check(resp *http.Response, b *body) error {
	if resp.StatusCode != http.StatusOK {
		return newRefusal(resp, b)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/html" || kind == "application/json" {
		return fmt.Errorf("it answered with %s, and is no daemon", kind)
	}
	return nil
}

// stalledError says that a daemon was silent for too long.
type stalledError struct{ after time.Duration }

// Error says how long, and what allows for longer.
func (e *stalledError) Error() string {
	return fmt.Sprintf("no byte came for %s; --stall-timeout allows for longer", e.after)
}

// body is the body of an answer. It ends with an error when it is silent for too long; only the
// time inside Read counts, as a slow reader is not the daemon's fault.
type body struct {
	client *client
	ctx    context.Context
	cancel context.CancelCauseFunc
	alarm  timer
	rc     io.ReadCloser
	n      int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.alarm.Reset(b.client.opt.Stall)
	n, err := b.rc.Read(p)
	b.alarm.Stop()
	b.n += int64(n)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if err = b.cause(err); isEnd(err) {
		return n, err
	}
	return n, fmt.Errorf("the daemon at %s broke off after %d bytes: %w", b.client.host, b.n, inertError(err))
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.alarm.Stop()
	b.cancel(nil)
	err := b.rc.Close()
	b.client.close()
	return err
}

// cause is why a request ended: the alarm or the context, if that is so, or err.
func (b *body) cause(err error) error {
	var stalled *stalledError
	if errors.As(context.Cause(b.ctx), &stalled) {
		return stalled
	}
	if ended := b.ctx.Err(); ended != nil {
		return ended
	}
	return err
}

// isEnd says whether an error is that of a context.
func isEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
