package cache

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// hasty is a transport for requests that are not worth waiting for. Package registry
// repeats what may pass: a busy server, a connection that broke. Here that is an error of
// which it knows nothing, so that it does not. Bodies are read at once, so that they cannot
// break later.
type hasty struct {
	base   http.RoundTripper
	answer time.Duration // until an answer begins
}

// lateError says that no answer came.
type lateError struct{ after time.Duration }

// Error says how long was waited for.
func (e *lateError) Error() string { return fmt.Sprintf("no answer came within %s", e.after) }

// RoundTrip implements http.RoundTripper.
func (h *hasty) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	alarm := time.AfterFunc(h.answer, func() { cancel(&lateError{h.answer}) })
	resp, err := h.base.RoundTrip(req.WithContext(ctx))
	alarm.Stop()
	if err != nil {
		return nil, opaque(ctx, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, fmt.Errorf("%q answered %s", req.URL.Host, strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, opaque(ctx, err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("%q sent more than %d bytes", req.URL.Host, maxAnswer)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// maxAnswer has room for the largest entry or for a manifest with an entry in it.
const maxAnswer = maxShared + 1<<20

// opaque keeps the text of an error alone, unless what it is says how to go on.
func opaque(ctx context.Context, err error) error {
	var late *lateError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(context.Cause(ctx), &late):
		return errors.New(late.Error())
	case errors.As(err, &record), errors.As(err, &certificate):
		return err
	}
	return errors.New(err.Error())
}

// CloseIdleConnections gives up connections that are not in use.
func (h *hasty) CloseIdleConnections() {
	if c, ok := h.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// encrypted is a transport that speaks HTTP without TLS to nobody but this machine. The
// library that writes to registries does so on private networks, too.
type encrypted struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (e encrypted) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !isLoopback(req.URL) {
		return nil, fmt.Errorf("%q is not asked without encryption; use --plain-http if it has no TLS", req.URL.Host)
	}
	return e.base.RoundTrip(req)
}

func isLoopback(u *url.URL) bool {
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
