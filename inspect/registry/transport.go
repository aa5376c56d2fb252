package registry

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// product names this program to registries.
const product = "ccgate"

// named adds the name of this program to requests.
func named(t http.RoundTripper) http.RoundTripper { return transport.NewUserAgent(t, product) }

// NewTransport returns the transport that is used if Options name none. It
// takes proxies from the environment and obeys CAFile and SkipTLSVerify.
//
// It speaks HTTP/1.1 only. HTTP/2 would put all ranges of a blob on one
// connection, whose rate is what fetching them ahead is to get past.
func NewTransport(opt Options) (*http.Transport, error) {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t = t.Clone()
	t.ForceAttemptHTTP2 = false
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.MaxIdleConnsPerHost = 16
	t.ReadBufferSize = 64 << 10
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: opt.SkipTLSVerify}
	if opt.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(opt.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without any, such as an empty container
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading certificates: %q holds none in PEM form", opt.CAFile)
	}
	t.TLSClientConfig.RootCAs = pool
	return t, nil
}
