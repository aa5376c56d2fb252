// Package registrytest has what stands between a client and a registry in
// tests: a proxy that breaks what passes through it, authentication, and
// ranges for a registry without them.
//
// All of it are http.Handlers around another one. A test composes them and
// starts a server of net/http/httptest:
//
//	backend := registry.New() // of go-containerregistry
//	blob := registrytest.PutBlob(backend, "repo", content)
//	proxy := registrytest.NewProxy(registrytest.Ranges(backend))
//	proxy.Inject("/blobs/", registrytest.Cut(1000))
//	server := httptest.NewServer(proxy)
package registrytest

import (
	"net/http"
	"strings"
	"sync"
)

// Fault answers a request in place of next, or lets next answer and spoils it.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Proxy passes requests on to a registry, spoils some, and remembers all.
type Proxy struct {
	next http.Handler

	mu       sync.Mutex
	queues   []*queue
	requests []*http.Request
}

// queue are faults for requests whose path contains a string.
type queue struct {
	path   string
	faults []Fault
	always bool
}

// NewProxy returns a Proxy without faults.
func NewProxy(next http.Handler) *Proxy { return &Proxy{next: next} }

// Inject gives each of the next requests whose path contains path one of the
// faults, in order. After the last one they pass unharmed.
func (p *Proxy) Inject(path string, faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues = append(p.queues, &queue{path: path, faults: faults})
}

// Always gives all requests whose path contains path the same fault, after
// those that were injected before.
func (p *Proxy) Always(path string, fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues = append(p.queues, &queue{path: path, faults: []Fault{fault}, always: true})
}

// Requests returns the requests so far whose path contains path.
func (p *Proxy) Requests(path string) []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*http.Request
	for _, r := range p.requests {
		if strings.Contains(r.URL.Path, path) {
			found = append(found, r)
		}
	}
	return found
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.requests = append(p.requests, r.Clone(r.Context()))
	fault := p.pick(r.URL.Path)
	p.mu.Unlock()
	fault(w, r, p.next)
}

func (p *Proxy) pick(path string) Fault {
	for _, q := range p.queues {
		if len(q.faults) == 0 || !strings.Contains(path, q.path) {
			continue
		}
		f := q.faults[0]
		if !q.always {
			q.faults = q.faults[1:]
		}
		return f
	}
	return Pass
}
