package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// material are the files for TLS, each "" if it is not there.
type material struct{ ca, cert, key string }

// tlsFiles finds the files in a directory, under the names that docker gives them.
func tlsFiles(dir string) material {
	find := func(name string) string {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		return path // what else is wrong shows when it is read
	}
	return material{ca: find("ca.pem"), cert: find("cert.pem"), key: find("key.pem")}
}

func (m material) any() bool { return m != material{} }

// config trusts the authority of the files alone, as docker does, or that of the system where
// they have none.
func (m material) config(skipVerify bool) (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: skipVerify}
	if m.ca != "" && !skipVerify {
		pem, err := os.ReadFile(m.ca)
		if err != nil {
			return nil, fmt.Errorf("reading certificates: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading certificates: %q holds none in PEM form", m.ca)
		}
	}
	if m.cert != "" && m.key != "" {
		pair, err := tls.LoadX509KeyPair(m.cert, m.key)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate %q of the client: %w", m.cert, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// environmentTLS is what DOCKER_TLS_VERIFY and its relatives ask for; nil is no TLS.
func environmentTLS() (*tls.Config, error) {
	verify := os.Getenv("DOCKER_TLS_VERIFY") != ""
	if !verify && os.Getenv("DOCKER_TLS") == "" {
		return nil, nil
	}
	dir := os.Getenv("DOCKER_CERT_PATH")
	if dir == "" {
		dir = configuration()
	}
	return tlsFiles(dir).config(!verify)
}
