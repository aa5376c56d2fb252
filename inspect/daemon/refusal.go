package daemon

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"
)

const (
	maxAnswer  = 8 << 10 // bytes of a refusal that are read
	maxMessage = 300     // bytes of its text that are shown
)

// refusal is an answer other than that of success.
type refusal struct {
	code    int
	message string
}

func newRefusal(resp *http.Response, r io.Reader) *refusal {
	e := &refusal{code: resp.StatusCode}
	raw, err := io.ReadAll(io.LimitReader(r, maxAnswer))
	if err != nil {
		return e // the status says enough
	}
	var report struct{ Message string }
	if json.Unmarshal(raw, &report) != nil {
		report.Message = string(raw)
	}
	e.message = inert(report.Message)
	return e
}

// Error gives the status and what the daemon says about it.
func (e *refusal) Error() string {
	text := fmt.Sprintf("it answered %d %s", e.code, http.StatusText(e.code))
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// absent says whether an image is not there. Some versions say it with another status, and a
// server that has no images at all says the same of its pages.
func (e *refusal) absent() bool {
	said := strings.ToLower(e.message)
	return e.code == http.StatusNotFound && !strings.Contains(said, "page not found") || strings.Contains(said, "no such image")
}

// isAbsent says whether nothing listens where a daemon was sought.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)
}

// explain puts into words what went wrong and what can be done about it.
func (c *client) explain(err error) error {
	var no *refusal
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	at := "the daemon at " + c.host.String()
	switch {
	case isEnd(err):
		return err
	case isAbsent(err) && c.base.Hostname() == socketHost:
		return fmt.Errorf("no daemon answers at %s; %s", c.host, isRunning)
	case isAbsent(err):
		return fmt.Errorf("no daemon answers at %s; is it running there?", c.host)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("permission denied for %s; root and the members of the group that owns the socket (docker) have it", at)
	case errors.As(err, &no) && strings.Contains(no.message, "HTTP request to an HTTPS server"):
		return fmt.Errorf("%s speaks TLS; set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the directory of ca.pem, cert.pem and key.pem", at)
	case errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		return fmt.Errorf("%s speaks no TLS; unset DOCKER_TLS_VERIFY if that is right", at)
	case errors.As(err, &certificate):
		return fmt.Errorf("%s has a certificate that could not be verified: %w; DOCKER_CERT_PATH is the directory of its ca.pem", at, inertError(certificate.Err))
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("%s: unknown host %q", at, inert(dns.Name))
	}
	return fmt.Errorf("%s: %w", at, inertError(err))
}

// inertError keeps an error whose text comes from the other side from acting on a terminal.
func inertError(err error) error {
	if text := inert(err.Error()); text != err.Error() {
		return &inertText{text, err}
	}
	return err
}

type inertText struct {
	text string
	err  error
}

// Error returns the text.
func (e *inertText) Error() string { return e.text }

// Unwrap returns the cause.
func (e *inertText) Unwrap() error { return e.err }

// inert makes text of a daemon safe for a terminal, and short.
func inert(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c >= 0x2028 && c <= 0x202e || c >= 0x2066 && c <= 0x2069 {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}
