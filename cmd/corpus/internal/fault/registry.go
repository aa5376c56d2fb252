package fault

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// server is a registry on a loopback address that has a repository for each view.
type server struct {
	http.Server
	host string

	mu    sync.Mutex
	views map[string]*view
}

func newServer() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{host: l.Addr().String(), views: make(map[string]*view)}
	s.Handler, s.ErrorLog = s, log.New(io.Discard, "", 0)
	go s.Serve(l) //nolint:errcheck // it ends with Close
	return s, nil
}

// add gives a view a repository, and returns the reference of its image by digest.
func (s *server) add(name string, v *view) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[name] = v
	return fmt.Sprintf("%s/%s@%s", s.host, name, v.root.Digest)
}

func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.views, name)
}

// ServeHTTP implements http.Handler for what is pulled by digest.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2/"), "/")
	if len(parts) != 3 {
		return // 200: this is a registry
	}
	s.mu.Lock()
	v := s.views[parts[0]]
	s.mu.Unlock()
	h, err := v1.NewHash(parts[2])
	if v == nil || err != nil {
		http.NotFound(w, r)
		return
	}
	c, ok := v.blobs[h]
	if !ok {
		http.NotFound(w, r)
		return
	}
	whole := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		if h == v.root.Digest {
			w.Header().Set("Content-Type", string(v.root.MediaType))
		}
		http.ServeContent(w, r, "", time.Time{}, c.reader())
	})
	if spoil := v.spoiled[h]; spoil != nil {
		spoil(w, r, whole)
		return
	}
	whole(w, r)
}

// cutAt ends every answer at one byte of the blob, however often it is asked for the rest.
func cutAt(at int64) registrytest.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		start, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-")
		from, err := strconv.ParseInt(start, 10, 64)
		if err != nil {
			from = 0 // all of it
		}
		registrytest.Cut(max(0, at-from))(w, r, next)
	}
}

// once spoils the first answer only.
func once(fault, then registrytest.Fault) registrytest.Fault {
	var first sync.Once
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		use := then
		first.Do(func() { use = fault })
		use(w, r, next)
	}
}
