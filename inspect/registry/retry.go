package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// brokenError says that a body ended before it should have.
type brokenError struct{ err error }

// Error returns the cause.
func (e *brokenError) Error() string { return "the connection broke: " + e.err.Error() }

// Unwrap returns the cause.
func (e *brokenError) Unwrap() error { return e.err }

// retry repeats a request while its failure may pass.
func (r *Repository) retry(ctx context.Context, request func() error) error {
	for try := 0; ; try++ {
		err := request()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait, passing := r.patience(try, err)
		if !passing {
			return explain(err)
		}
		if try+1 == tries {
			return exhausted(err)
		}
		if err := r.clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// patience says whether a failure may pass, and how long to wait for it.
func (r *Repository) patience(try int, err error) (time.Duration, bool) {
	var no *refusal
	if errors.As(err, &no) {
		if no.stale() {
			return backoff(brokenWait, try, r.clock.Jitter()), true
		}
		return r.busyWait(try, no), no.busy()
	}
	return backoff(brokenWait, try, r.clock.Jitter()), r.isPassing(err)
}

// busyWait is what the server asks for, if it says so. A server that repeats
// itself is not believed when it asks for less than the usual.
func (r *Repository) busyWait(try int, no *refusal) time.Duration {
	now := no.received
	if now.IsZero() {
		now = r.clock.Now()
	}
	usual := backoff(busyWait, try, r.clock.Jitter())
	asked, ok := parseRetryAfter(no.header.Get("Retry-After"), now)
	if ok && (try == 0 || asked > usual) {
		return asked
	}
	return usual
}

// isPassing says whether a failure is one of the connection, as one of a file of
// credentials that was cut off is not. Before the first answer, a refused connection is
// taken for a wrong name.
func (r *Repository) isPassing(err error) bool {
	var broken *brokenError
	var stalled *stalledError
	var lost *credentialError
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &lost):
		return false
	case errors.As(err, &broken), errors.As(err, &stalled):
		return true
	case isTLS(err):
		return false // with another certificate, perhaps
	case errors.As(err, &dns):
		return dns.IsTemporary || dns.IsTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return r.wire.answered.Load()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &op):
		return true
	}
	return errors.As(err, &timeout) && timeout.Timeout()
}

// exhausted is the error after the last try.
func exhausted(err error) error {
	var no *refusal
	if !errors.As(err, &no) || no.code != http.StatusTooManyRequests {
		return fmt.Errorf("gave up after %d attempts: %w", tries, explain(err))
	}
	hint := "wait, or log in for a higher limit"
	if limits := no.limits(); limits != "" {
		hint = "it said " + limits + "; " + hint
	}
	return fmt.Errorf("rate limited: gave up after %d attempts: %w; %s", tries, err, hint)
}
