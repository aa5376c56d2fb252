package registry

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
)

// errWebPage is what a captive portal or a single sign-on looks like from here.
var errWebPage = errors.New("the server answered with a web page, probably a login page: check the name of the registry and the proxy")

// sizeError says that content has another size than its descriptor states.
func sizeError(got, want int64) error {
	return fmt.Errorf("has %d bytes in the registry instead of the %d that its manifest states", got, want)
}

// checkWhole looks at the header of a response to a request without a Range.
func checkWhole(resp *http.Response, size int64) error {
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s to a request for everything", status(resp.StatusCode))
	}
	if err := checkEncoding(resp); err != nil {
		return err
	}
	if resp.ContentLength < 0 || size < 0 || resp.ContentLength == size {
		return nil
	}
	if isWebPage(resp) {
		return errWebPage
	}
	return sizeError(resp.ContentLength, size)
}

// checkEncoding refuses bytes that are not the stored ones. They were asked
// for without an encoding, and where one is applied anyway, offsets and sizes
// mean something else than they should.
func checkEncoding(resp *http.Response) error {
	for _, e := range resp.Header.Values("Content-Encoding") {
		if e != "" && e != "identity" {
			return fmt.Errorf("came with the content encoding %q, which was not asked for; a proxy on the way may have added it", e)
		}
	}
	return nil
}

func isWebPage(resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media == "text/html" || media == "application/xhtml+xml"
}

func status(code int) string {
	if text := http.StatusText(code); text != "" {
		return fmt.Sprintf("%d %s", code, text)
	}
	return fmt.Sprintf("%d", code)
}
