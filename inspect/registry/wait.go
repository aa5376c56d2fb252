package registry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// tries is how often a request is made that the server refuses for now.
	tries = 6
	// maxWait is the longest wait that a server may ask for.
	maxWait = time.Minute

	busyWait    = time.Second            // after the first refusal
	brokenWait  = 250 * time.Millisecond // after the first break of a connection
	longestWait = 30 * time.Second
)

// backoff returns how long to wait before a repetition: twice as long each
// time, with a quarter more or less so that a fleet does not come back as one.
func backoff(first time.Duration, try int, jitter float64) time.Duration {
	d := longestWait
	if try < 16 {
		d = min(first<<try, longestWait)
	}
	return min(d*3/4+time.Duration(jitter*float64(d/2)), longestWait)
}

// parseRetryAfter reads a Retry-After header: seconds or a date (RFC 9110,
// section 10.2.3). Some registries send durations with a unit instead, even
// "44000ms" and "547.3µs". What it means is kept between zero and one minute;
// what means nothing is not ok.
func parseRetryAfter(value string, now time.Time) (wait time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	if isDigits(value) {
		seconds, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return maxWait, true // out of range
		}
		return clamp(time.Duration(seconds) * time.Second), true
	}
	if d, err := time.ParseDuration(value); err == nil {
		return clamp(d), true
	}
	if f, err := strconv.ParseFloat(value, 64); err == nil && f < 0 {
		return 0, true
	}
	if t, err := http.ParseTime(value); err == nil {
		return clamp(t.Sub(now)), true
	}
	return 0, false
}

func clamp(d time.Duration) time.Duration { return min(max(d, 0), maxWait) }

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
