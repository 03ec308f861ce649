package reports

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Text is how text is written; the caller knows the stream.
type Text struct {
	Width    int  // columns, to wrap and cut at; 0 is unlimited
	Color    bool // ANSI colours
	Terminal bool // a status line may be redrawn in place
	Quiet    bool // no progress; of the summary only what is wrong and the verdict
}

// Live streams the progress of a run: each fail, warn and broken outcome as a
// line when it comes, a line for each revision and transport when the next one
// begins or Close is called, and on a terminal a status line beneath. Errors of
// the writer are ignored: progress never stops a run. A Live may be used by
// several goroutines.
type Live struct {
	mu     sync.Mutex
	w      io.Writer
	text   Text
	total  int
	done   int
	now    suite
	status bool // a status line is on the screen
}

// NewLive returns a Live that writes to w.
func NewLive(w io.Writer, text Text) *Live { return &Live{w: w, text: text} }

// Expect tells how many outcomes are to come in all, for the status line.
func (l *Live) Expect(total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total = total
}

// Outcome shows an outcome. Those of one revision and transport are expected
// one after another.
func (l *Live) Outcome(o Outcome) {
	if l.text.Quiet {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.Totals == nil || l.now.Revision != o.Revision || l.now.Transport != o.Transport {
		l.finish()
		l.now = suite{Revision: o.Revision, Transport: o.Transport, Totals: make(map[Verdict]int)}
	}
	l.done++
	l.now.Totals[o.Verdict]++
	l.now.MS += o.MS
	switch o.Verdict {
	case Fail, Warn, Broken:
		l.clear()
		what := o.Detail
		if what == "" {
			what = o.Says
		}
		line := fmt.Sprintf("%s %s  %s", oneLine(o.ID, 120), oneLine(l.now.name(), 60), oneLine(what, 300))
		if o.Baselined != "" {
			line += " (in the baseline)"
		}
		word := fmt.Sprintf("%-7s", word(o.Verdict))
		if l.text.Terminal && l.text.Width > 0 {
			line = fit(line, l.text.Width-len(word)-1)
		}
		fmt.Fprintf(l.w, "%s %s\n", l.text.paint(o.Verdict, word), line)
	}
	if l.text.Terminal {
		l.draw(o)
	}
}

// Close ends the last revision and removes the status line.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish()
	l.now = suite{}
}

func (l *Live) finish() {
	l.clear()
	if l.now.Totals != nil {
		fmt.Fprintf(l.w, "%s: %s (%s)\n", oneLine(l.now.name(), 60), l.text.totals(l.now.Totals), duration(l.now.MS))
	}
}

func (l *Live) clear() {
	if l.status {
		io.WriteString(l.w, "\r\x1b[K")
		l.status = false
	}
}

func (l *Live) draw(o Outcome) {
	count := group(l.done)
	if l.total > 0 {
		count += " of " + group(l.total)
	}
	line := fmt.Sprintf("%s  %s  %s", oneLine(l.now.name(), 60), count, oneLine(o.ID, 120))
	width := l.text.Width
	if width <= 0 {
		width = 80
	}
	io.WriteString(l.w, "\r\x1b[K"+fit(line, width-1))
	l.status = true
}

// word is a verdict as a word that stands out without colour.
func word(v Verdict) string {
	switch v {
	case Fail, Warn, Broken:
		return strings.ToUpper(string(v))
	}
	return string(v)
}

// totals is "2 fail, 1 warn, 120 pass", without what is zero.
func (t Text) totals(of map[Verdict]int) string {
	var parts []string
	for _, v := range Verdicts() {
		if n := of[v]; n > 0 {
			parts = append(parts, t.paint(v, group(n)+" "+string(v)))
		}
	}
	if len(parts) == 0 {
		return "nothing ran"
	}
	return strings.Join(parts, ", ")
}

func (t Text) paint(v Verdict, s string) string {
	switch v {
	case Fail:
		return t.ansi("1;31", s)
	case Warn:
		return t.ansi("33", s)
	case Broken:
		return t.ansi("1;35", s)
	case Pass:
		return t.ansi("32", s)
	}
	return t.ansi("2", s)
}

func (t Text) strong(s string) string { return t.ansi("1", s) }
func (t Text) faint(s string) string  { return t.ansi("2", s) }

func (t Text) ansi(code, s string) string {
	if !t.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
