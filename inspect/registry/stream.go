package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	// enough is the progress after which a broken transfer is as good as new.
	enough = 1 << 20
	// maxBreaks is how often in a row a transfer may break without it.
	maxBreaks = 5
	// maxDiscards is how often the start of a blob is fetched again because
	// the server ignores Range, and maxDiscard how much of it: over a line
	// that breaks often, the cost grows with the square of the size.
	maxDiscards = 2
	maxDiscard  = 64 << 20
)

// errNoRange says that a server cannot send a part of a blob.
var errNoRange = errors.New("the server ignores Range")

// stream reads a range of a blob and resumes it where it breaks.
type stream struct {
	r    *Repository
	ctx  context.Context
	path string
	size int64 // of the blob; Unknown if nobody states it
	want byteRange
	part bool // the range may only come as one, not as a part of everything

	body     io.ReadCloser // nil: broken or not opened yet
	cause    error         // why it broke
	resumed  int64         // where, when that was last tried
	breaks   int           // in a row
	discards int
}

// wantAll is the range of a whole blob.
func wantAll(size int64) byteRange { return byteRange{0, size} }

// open makes the first request.
func (s *stream) open() error {
	s.resumed = s.want.start
	err := s.request()
	var broken *brokenError
	if errors.As(err, &broken) {
		s.cause = err
		return nil // Read goes on from here
	}
	return err
}

// Read implements io.Reader. Any error but io.EOF is final.
func (s *stream) Read(p []byte) (int, error) {
	for {
		if s.body == nil {
			if err := s.resume(); err != nil {
				return 0, err
			}
		}
		left := s.want.end - s.want.start
		if s.size != Unknown && left == 0 {
			return 0, s.finish()
		}
		if s.size != Unknown && int64(len(p)) > left {
			p = p[:left]
		}
		n, err := s.body.Read(p)
		s.want.start += int64(n)
		if err != nil {
			s.ended(err)
		}
		if n > 0 || err == nil {
			return n, nil
		}
	}
}

// ended takes note of the end of a body. It is a break if bytes are missing.
func (s *stream) ended(err error) {
	switch {
	case s.size == Unknown && errors.Is(err, io.EOF):
		s.size, s.want.end = s.want.start, s.want.start
		return
	case s.size != Unknown && s.want.start == s.want.end:
		return // whatever it was, nothing is missing
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	s.body.Close()
	s.body, s.cause = nil, &brokenError{err: err}
}

// finish makes sure that nothing follows the last byte.
func (s *stream) finish() error {
	var extra [1]byte
	for range 8 {
		n, err := s.body.Read(extra[:])
		if n > 0 {
			return fmt.Errorf("goes on after the %d bytes that its manifest states", s.size)
		}
		if err != nil {
			break
		}
	}
	return io.EOF
}

// Close implements io.Closer.
func (s *stream) Close() error {
	if s.body == nil {
		return nil
	}
	return s.body.Close()
}

// resume makes the request for what is missing, through the registry, whose
// redirect may lead elsewhere by now or bear a new signature.
func (s *stream) resume() error {
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if s.size == Unknown {
			return fmt.Errorf("broke at byte %d, and cannot be resumed as its size is not known: %w", s.want.start, explain(s.cause))
		}
		if s.want.start-s.resumed >= enough {
			s.breaks = 0
		}
		if s.breaks == maxBreaks {
			return fmt.Errorf("broke at byte %d of %d and could not be resumed in %d attempts: %w", s.want.start, s.size, maxBreaks, explain(s.cause))
		}
		wait := backoff(brokenWait, s.breaks, s.r.clock.Jitter())
		s.breaks++
		s.resumed = s.want.start
		if err := s.r.clock.Sleep(s.ctx, wait); err != nil {
			return err
		}
		var broken *brokenError
		if err := s.request(); !errors.As(err, &broken) {
			return err
		}
		s.cause = broken
	}
}

// request asks for the range and sets the body.
func (s *stream) request() error {
	header := make(http.Header)
	if s.ranged() {
		header.Set("Range", s.want.header(s.size))
	}
	var resp *http.Response
	err := s.r.retry(s.ctx, func() (err error) {
		resp, err = s.r.attempt(s.ctx, s.path, header)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.accept(resp); err != nil {
		resp.Body.Close()
		return err
	}
	s.body = resp.Body
	return nil
}

// ranged says whether less than everything is wanted.
func (s *stream) ranged() bool { return s.want != wantAll(s.size) }

// accept looks at the header of a response.
func (s *stream) accept(resp *http.Response) error {
	switch {
	case !s.ranged():
		if err := checkWhole(resp, s.size); err != nil {
			return err
		}
		if s.size == Unknown && resp.ContentLength >= 0 {
			s.size, s.want = resp.ContentLength, wantAll(resp.ContentLength)
		}
		return nil
	case resp.StatusCode == http.StatusOK:
		return s.discard(resp)
	}
	if err := checkEncoding(resp); err != nil {
		return err
	}
	if err := checkRange(resp, s.want, s.size); err != nil {
		return err
	}
	s.r.ranged.Store(true)
	return nil
}

// discard skips what came before, in a body that begins at the beginning
// although a part was asked for.
func (s *stream) discard(resp *http.Response) error {
	s.r.unranged.Store(true)
	if err := checkWhole(resp, s.size); err != nil {
		return err
	}
	if s.part || s.discards == maxDiscards || s.want.start > maxDiscard {
		return fmt.Errorf("broke at byte %d of %d: %w, and fetching all of it again would never end", s.want.start, s.size, errNoRange)
	}
	s.discards++
	if _, err := io.CopyN(io.Discard, resp.Body, s.want.start); err != nil {
		return &brokenError{err: err}
	}
	return nil
}
