package registrytest

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// Pass lets a request pass unharmed.
func Pass(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }

// Cut breaks the connection after n bytes of the body.
func Cut(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&spoiled{ResponseWriter: w, limit: n, atLimit: func() { panic(http.ErrAbortHandler) }}, r)
	}
}

// Stall sends n bytes of the body, then a value on stalled, and nothing more
// until the client goes away.
func Stall(n int64, stalled chan<- struct{}) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&spoiled{ResponseWriter: w, limit: n, atLimit: func() {
			stalled <- struct{}{}
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}}, r)
	}
}

// Silence accepts a request and does not answer it at all.
func Silence(stalled chan<- struct{}) Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		stalled <- struct{}{}
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Status answers with a status, header fields (name, value, …) and a body.
func Status(code int, body string, fields ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(fields); i += 2 {
			w.Header().Add(fields[i], fields[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body) //nolint:errcheck // the client may be gone
	}
}

// Redirect sends the client to another URL.
func Redirect(url string) Fault {
	return Status(http.StatusTemporaryRedirect, "", "Location", url)
}

// IgnoreRange answers with everything where a part was asked for.
func IgnoreRange(w http.ResponseWriter, r *http.Request, next http.Handler) {
	r.Header.Del("Range")
	next.ServeHTTP(w, r)
}

// Header changes the header of the answer, without which the body stays.
func Header(change func(http.Header)) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&spoiled{ResponseWriter: w, limit: -1, header: change}, r)
	}
}

// Chunked leaves out the length of the body and adds bytes to its end.
func Chunked(extra string) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&spoiled{ResponseWriter: w, limit: -1, header: func(h http.Header) { h.Del("Content-Length") }}, r)
		if f, ok := w.(http.Flusher); ok {
			f.Flush() // before the handler ends, lest the length is added again
		}
		io.WriteString(w, extra) //nolint:errcheck // the client may be gone
	}
}

// Rate sends the body with at most so many bytes a second, which is what a
// network with a limit for each connection does. It is for benchmarks.
func Rate(bytes int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&spoiled{ResponseWriter: w, limit: -1, rate: bytes}, r)
	}
}

// spoiled is a response writer that spoils what passes through it.
type spoiled struct {
	http.ResponseWriter
	header  func(http.Header)
	limit   int64 // of the body; negative: none
	atLimit func()
	rate    int // bytes a second; 0: no limit

	begun bool
	sent  int64
	start time.Time
}

// WriteHeader implements http.ResponseWriter.
func (s *spoiled) WriteHeader(code int) {
	if s.begun {
		return
	}
	s.begun, s.start = true, time.Now()
	if s.header != nil {
		s.header(s.Header())
	}
	s.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (s *spoiled) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	if s.limit >= 0 && s.sent+int64(len(p)) >= s.limit && s.atLimit != nil {
		if _, err := s.ResponseWriter.Write(p[:s.limit-s.sent]); err != nil {
			return 0, err
		}
		s.Flush()
		s.atLimit()
	}
	if s.rate == 0 {
		n, err := s.ResponseWriter.Write(p)
		s.sent += int64(n)
		return n, err
	}
	return s.trickle(p)
}

// trickle writes in small portions and sleeps until each is due.
func (s *spoiled) trickle(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := s.ResponseWriter.Write(p[done:min(done+16<<10, len(p))])
		done += n
		s.sent += int64(n)
		if err != nil {
			return done, err
		}
		due := s.start.Add(time.Duration(float64(s.sent) / float64(s.rate) * float64(time.Second)))
		time.Sleep(time.Until(due))
	}
	return done, nil
}

// Flush implements http.Flusher.
func (s *spoiled) Flush() {
	if f, ok := s.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// length returns the length that a header states, or -1.
func length(h http.Header) int64 {
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
