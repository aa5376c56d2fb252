package registry

import (
	"context"
	"math/rand/v2"
	"time"
)

// clock is the time and the chance that waiting depends on. Tests have one
// that they move themselves.
type clock interface {
	Now() time.Time
	// Sleep waits for d or returns the error of ctx.
	Sleep(ctx context.Context, d time.Duration) error
	// AfterFunc calls f in a goroutine of its own after d.
	AfterFunc(d time.Duration, f func()) timer
	// Jitter returns a number from 0 to 1.
	Jitter() float64
}

// timer is the part of a time.Timer that is needed here.
type timer interface {
	Reset(time.Duration) bool
	Stop() bool
}

type systemClock struct{}

// Now implements clock.
func (systemClock) Now() time.Time { return time.Now() }

// AfterFunc implements clock.
func (systemClock) AfterFunc(d time.Duration, f func()) timer { return time.AfterFunc(d, f) }

// Jitter implements clock.
func (systemClock) Jitter() float64 { return rand.Float64() }

// Sleep implements clock.
func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
