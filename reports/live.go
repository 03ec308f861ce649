package reports

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// TextOptions say how text is written; the caller knows the stream.
type TextOptions struct {
	Width    int  // columns at which text is wrapped or cut; 0 is unlimited
	Color    bool // ANSI colors
	Terminal bool // a status line may be redrawn in place
	Quiet    bool // no progress; of the summary only problems and the conclusion
	Verbose  bool // the summary shows each problem with its messages, and all that was not judged
	Next     []Step
}

// Live streams the progress of a run: a line for each revision and transport when the
// next one begins or Close is called; on a terminal a line for each fail, warn and broken
// outcome, too, and a status line below; elsewhere a line every 30 seconds. It ignores
// errors of the writer, since progress never stops a run. It is safe for concurrent use.
type Live struct {
	mu        sync.Mutex
	w         io.Writer
	o         TextOptions
	done      int
	current   suite
	hasStatus bool // a status line is on the screen
	now       func() time.Time
	began     time.Time
	lastLine  time.Time
}

// NewLive returns a Live that writes to w.
func NewLive(w io.Writer, o TextOptions) *Live { return newLive(w, o, time.Now) }

func newLive(w io.Writer, o TextOptions, now func() time.Time) *Live {
	began := now()
	return &Live{w: w, o: o, now: now, began: began, lastLine: began}
}

// lineEvery is how often a line is written where there is no terminal.
const lineEvery = 30 * time.Second

// Outcome shows an outcome. The caller passes the outcomes of one revision and
// transport one after another.
func (l *Live) Outcome(o Outcome) {
	if l.o.Quiet {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current.Totals == nil || l.current.Revision != o.Revision || l.current.Transport != o.Transport {
		l.endSuite()
		l.current = suite{Revision: o.Revision, Transport: o.Transport, Totals: make(map[Verdict]int)}
	}
	l.done++
	l.current.Totals[o.Verdict]++
	l.current.MS += o.MS
	if !l.o.Terminal {
		if l.now().Sub(l.lastLine) >= lineEvery {
			fmt.Fprintln(l.w, l.status(o))
			l.lastLine = l.now()
		}
		return
	}
	switch o.Verdict {
	case Fail, Warn, Broken:
		l.clearStatus()
		l.problem(o)
	}
	l.drawStatus(o)
}

// status says how far the run is.
func (l *Live) status(o Outcome) string {
	elapsed := l.now().Sub(l.began).Truncate(time.Second)
	return fmt.Sprintf("%s  %s in %s, last %s", oneLine(l.current.name(), suiteLimit),
		plural(l.done, "verdict", "verdicts"), elapsed, oneLine(o.ID, idLimit))
}

// Notice shows a line that is no outcome.
func (l *Live) Notice(text string) {
	if l.o.Quiet {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clearStatus()
	fmt.Fprintln(l.w, oneLine(text, detailLimit))
}

// Close ends the last revision and removes the status line.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endSuite()
	l.current = suite{}
}

func (l *Live) problem(o Outcome) {
	what := oneLine(firstNonEmpty(o.Detail, o.Says), commandLimit)
	line := fmt.Sprintf("%s %s  %s", oneLine(o.ID, idLimit), oneLine(l.current.name(), suiteLimit), what)
	if o.Baselined != "" {
		line += " (in the baseline)"
	}
	verdict := fmt.Sprintf("%-7s", label(o.Verdict))
	if l.o.Terminal && l.o.Width > 0 {
		line = cutToWidth(line, l.o.Width-len(verdict)-1)
	}
	fmt.Fprintf(l.w, "%s %s\n", l.o.paint(o.Verdict, verdict), line)
}

func (l *Live) endSuite() {
	l.clearStatus()
	if l.current.Totals != nil {
		fmt.Fprintf(l.w, "%s: %s (%s)\n",
			oneLine(l.current.name(), suiteLimit), l.o.totals(l.current.Totals), formatMS(l.current.MS))
		l.lastLine = l.now()
	}
}

func (l *Live) clearStatus() {
	if l.hasStatus {
		io.WriteString(l.w, "\r\x1b[K")
		l.hasStatus = false
	}
}

func (l *Live) drawStatus(o Outcome) {
	line := l.status(o)
	width := l.o.Width
	if width <= 0 {
		width = 80
	}
	io.WriteString(l.w, "\r\x1b[K"+cutToWidth(line, width-1))
	l.hasStatus = true
}

// label is the name of a verdict, in capitals where it must stand out without
// color.
func label(v Verdict) string {
	switch v {
	case Fail, Warn, Broken:
		return strings.ToUpper(string(v))
	}
	return string(v)
}

// totals is "2 fail, 1 warn, 120 pass", without what is zero.
func (o TextOptions) totals(of map[Verdict]int) string {
	var parts []string
	for _, v := range Verdicts() {
		if n := of[v]; n > 0 {
			parts = append(parts, o.paint(v, formatInt(n)+" "+string(v)))
		}
	}
	return strings.Join(parts, ", ")
}

// paint colors s as text about a verdict.
func (o TextOptions) paint(v Verdict, s string) string {
	switch v {
	case Fail:
		return o.ansi("1;31", s)
	case Warn:
		return o.ansi("33", s)
	case Broken:
		return o.ansi("1;35", s)
	case Pass:
		return o.ansi("32", s)
	}
	return o.faint(s)
}

func (o TextOptions) bold(s string) string  { return o.ansi("1", s) }
func (o TextOptions) faint(s string) string { return o.ansi("2", s) }

func (o TextOptions) ansi(code, s string) string {
	if !o.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
