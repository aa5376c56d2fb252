package inspect

import "sync"

// Progress says how far reading an image has come. Bytes are those stored;
// totals are zero where they are not known.
type Progress struct {
	Bytes, TotalBytes   int64
	Layers, TotalLayers int // those read to the end
}

// progress adds up what several layers read.
type progress struct {
	mu     sync.Mutex
	report func(Progress)
	now    Progress
}

// newProgress starts with what is to be read.
func newProgress(report func(Progress), layers []Layer) *progress {
	p := &progress{report: report}
	for _, l := range layers {
		p.now.TotalBytes += l.Size
		p.now.TotalLayers++
	}
	return p
}

func (p *progress) add(n int) { p.update(func(now *Progress) { now.Bytes += int64(n) }) }

func (p *progress) layer() { p.update(func(now *Progress) { now.Layers++ }) }

func (p *progress) update(change func(*Progress)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.now)
	if p.report != nil {
		p.report(p.now)
	}
}

// stop ends the reports. A read that is under way may still end later.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report = nil
}
