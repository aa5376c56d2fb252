package registry

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// byteRange are the bytes of a blob from start to end, which is not included.
type byteRange struct{ start, end int64 }

// header returns the range as a Range header has it. A range to the end of the
// blob names no end: that is what every server is known to understand.
func (b byteRange) header(size int64) string {
	if b.end == size {
		return fmt.Sprintf("bytes=%d-", b.start)
	}
	return fmt.Sprintf("bytes=%d-%d", b.start, b.end-1)
}

// parseContentRange reads a Content-Range header (RFC 9110, section 14.4). The
// size is Unknown if it is given as "*".
func parseContentRange(value string) (b byteRange, size int64, ok bool) {
	unit, rest, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return byteRange{}, 0, false
	}
	span, total, ok := strings.Cut(rest, "/")
	if !ok {
		return byteRange{}, 0, false
	}
	first, last, ok := strings.Cut(span, "-")
	if !ok || !isDigits(first) || !isDigits(last) {
		return byteRange{}, 0, false
	}
	start, err1 := strconv.ParseInt(first, 10, 62)
	end, err2 := strconv.ParseInt(last, 10, 62)
	if err1 != nil || err2 != nil || end < start {
		return byteRange{}, 0, false
	}
	size = Unknown
	if total != "*" {
		var err error
		if size, err = strconv.ParseInt(total, 10, 62); err != nil || !isDigits(total) || end >= size {
			return byteRange{}, 0, false
		}
	}
	return byteRange{start, end + 1}, size, true
}

// checkRange compares a partial response with what was asked for.
func checkRange(resp *http.Response, want byteRange, size int64) error {
	values := resp.Header.Values("Content-Range")
	if len(values) != 1 {
		return fmt.Errorf("the server sent a part with %d Content-Range headers instead of one", len(values))
	}
	got, total, ok := parseContentRange(values[0])
	if !ok {
		return fmt.Errorf("the server sent a part with the Content-Range %q", inert(values[0]))
	}
	if got != want || total != size && total != Unknown {
		return fmt.Errorf("the server sent a part with the Content-Range %q instead of bytes %d-%d/%d", inert(values[0]), want.start, want.end-1, size)
	}
	if n := resp.ContentLength; n >= 0 && n != want.end-want.start {
		return fmt.Errorf("the server sent a part with a length of %d instead of %d", n, want.end-want.start)
	}
	return nil
}
