package registrytest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Ranges answers requests for a range of a blob, from a registry that cannot
// send one. It understands "bytes=N-" and "bytes=N-M".
func Ranges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		spec, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
		first, last, _ := strings.Cut(spec, "-")
		start, err := strconv.ParseInt(first, 10, 64)
		if !ok || err != nil || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
			next.ServeHTTP(w, r)
			return
		}
		end := int64(-1)
		if n, err := strconv.ParseInt(last, 10, 64); err == nil {
			end = n + 1
		}
		r = r.Clone(r.Context())
		r.Header.Del("Range")
		next.ServeHTTP(&part{ResponseWriter: w, start: start, end: end}, r)
	})
}

// part is a response writer that lets a part of the body through.
type part struct {
	http.ResponseWriter
	start, end int64 // end is negative if the part goes to the end of the body
	pos        int64
	begun      bool
	plain      bool // the answer has no parts
}

// WriteHeader implements http.ResponseWriter.
func (p *part) WriteHeader(code int) {
	if p.begun {
		return
	}
	p.begun = true
	size := length(p.Header())
	if code != http.StatusOK || size < 0 {
		p.plain = true
		p.ResponseWriter.WriteHeader(code)
		return
	}
	if p.end < 0 || p.end > size {
		p.end = size
	}
	if p.start >= p.end {
		p.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		p.Header().Del("Content-Length")
		p.end = p.start
		p.ResponseWriter.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	}
	p.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", p.start, p.end-1, size))
	p.Header().Set("Content-Length", strconv.FormatInt(p.end-p.start, 10))
	p.ResponseWriter.WriteHeader(http.StatusPartialContent)
}

// Write implements http.ResponseWriter.
func (p *part) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	if p.plain {
		return p.ResponseWriter.Write(b)
	}
	from := min(max(p.start-p.pos, 0), int64(len(b)))
	to := min(max(p.end-p.pos, from), int64(len(b)))
	p.pos += int64(len(b))
	if from < to {
		if _, err := p.ResponseWriter.Write(b[from:to]); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
