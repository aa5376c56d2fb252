package registry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

// explain adds to an error of the network what can be done about it. Where
// HTTPS and HTTP were both tried, the error holds both, and the order of the
// cases here says which one tells more.
func explain(err error) error {
	var said *hinted
	if errors.As(err, &said) {
		return err
	}
	var no *refusal
	var outside *borderError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case isCertificate(err):
		return hint(err, inert(certificate(err))+"; use --tls-ca FILE or --tls-verify=false")
	case errors.As(err, &no):
		return no
	case errors.As(err, &outside):
		return outside
	case errors.As(err, &dns) && dns.IsNotFound:
		return hint(err, fmt.Sprintf("unknown host %q; check the name of the registry", dns.Name))
	case errors.Is(err, http.ErrSchemeMismatch):
		return hint(err, "the registry speaks plain HTTP; use --plain-http if that is right")
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &op) && op.Addr != nil:
		return hint(err, fmt.Sprintf("connection to %q refused; is the registry running there?", op.Addr.String()))
	}
	var location *url.Error
	if errors.As(err, &location) {
		err = location.Err // its URL may hold secrets
	}
	if text := inert(err.Error()); text != err.Error() {
		return hint(err, text)
	}
	return err
}

// hinted is an error in words of this package.
type hinted struct {
	text string
	err  error
}

func hint(err error, text string) error { return &hinted{text: text, err: err} }

// Error returns the words.
func (e *hinted) Error() string { return e.text }

// Unwrap returns the cause.
func (e *hinted) Unwrap() error { return e.err }

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return isCertificate(err) || errors.As(err, &record) || errors.As(err, &alert)
}

func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	return errors.As(err, &verification)
}

// certificate says in one clause what is wrong with a certificate.
func certificate(err error) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &authority):
		return "the certificate of the registry is signed by an unknown authority"
	case errors.As(err, &host):
		return "the certificate of the registry is for another host: " + host.Error()
	case errors.As(err, &invalid):
		return "the certificate of the registry is not valid: " + invalid.Error()
	}
	return "the certificate of the registry could not be verified: " + err.Error()
}
