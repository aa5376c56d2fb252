package badinput

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// The hosts of the network of the tests. The second is taken for one that is not on this
// machine, nor on a private network; it is one of those that documents use (RFC 5737).
const (
	loopbackHost = "registry.localhost:5000"
	publicHost   = "203.0.113.7:5000"
	storageHost  = "storage.localhost:9000"
)

// network connects the product to servers without a wire. In a bubble of testing/synctest
// the waits of the product cost no time, whatever a server asks for.
type network map[string]*listener

// newNetwork takes the place of the real one until the test is over.
func newNetwork(t *testing.T) network {
	n := network{}
	real := http.DefaultTransport
	transport := real.(*http.Transport).Clone()
	transport.DialContext = n.dial
	http.DefaultTransport = transport
	t.Cleanup(func() { http.DefaultTransport = real })
	return n
}

func (n network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	l, ok := n[address]
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.AddrError{Err: "nobody is there", Addr: address}}
	}
	here, there := net.Pipe()
	select {
	case l.incoming <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// serve starts a server at a host of the network.
func (n network) serve(t *testing.T, host string, h http.Handler) *httptest.Server {
	s := n.server(host, h)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (n network) server(host string, h http.Handler) *httptest.Server {
	n[host] = &listener{address: host, incoming: make(chan net.Conn), closed: make(chan struct{})}
	return &httptest.Server{Listener: n[host], Config: &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}}
}

// listener is a net.Listener.
type listener struct {
	address  string
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) }) // a server does it twice
	return nil
}

func (l *listener) Addr() net.Addr  { return l }
func (l *listener) Network() string { return "pipe" }
func (l *listener) String() string  { return l.address }

// repository is an image in a registry behind a proxy.
type repository struct {
	*registrytest.Proxy
	backend http.Handler
	image   *image
}

// newRepository stores an image as repo:tag.
func newRepository(i *image) repository {
	backend := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	root := i.seal()
	for h, b := range i.blobs {
		if h != root.Digest {
			registrytest.PutBlob(backend, "repo", b)
		}
	}
	registrytest.PutManifest(backend, "repo", "tag", root.MediaType, i.blobs[root.Digest])
	return repository{registrytest.NewProxy(registrytest.Ranges(backend)), backend, i}
}

// layerPath is a part of the path of the requests for a layer.
func (r repository) layerPath(n int) string {
	return "/blobs/" + r.image.manifest.Layers[n].Digest.String()
}

func (r repository) configPath() string { return "/blobs/" + r.image.manifest.Config.Digest.String() }
