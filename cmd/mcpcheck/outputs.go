package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/mcpcheck/mcpcheck/reports"
)

// outputs are where a run is told: the report files, opened before the target
// is started so that one that cannot be written is known in time, the summary
// and the progress.
type outputs struct {
	files   []output
	summary stream
	live    *reports.Live
}

type output struct {
	name  string
	w     io.WriteCloser
	write func(io.Writer, *reports.Run) error
}

// A stream is a text stream and how to write to it.
type stream struct {
	w    io.Writer
	text reports.TextOptions
}

// outputs opens the report files. The summary goes to stdout, or to stderr
// where a report takes stdout; the progress goes to stderr.
func (f *flags) outputs() (*outputs, error) {
	o := &outputs{}
	summary, taken := os.Stdout, ""
	for _, r := range []struct {
		flag, name string
		write      func(io.Writer, *reports.Run) error
	}{{"json", f.json, reports.WriteJSON}, {"junit", f.junit, reports.WriteJUnit}, {"html", f.html, reports.WriteHTML}} {
		switch {
		case r.name == "":
		case r.name == "-" && taken != "":
			o.close()
			return nil, fmt.Errorf("--%s and --%s cannot both go to stdout", taken, r.flag)
		case r.name == "-":
			summary, taken = os.Stderr, r.flag
			o.files = append(o.files, output{"stdout", keepOpen{os.Stdout}, r.write})
		default:
			w, err := os.Create(r.name)
			if err != nil {
				o.close()
				return nil, fmt.Errorf("--%s: %w", r.flag, err)
			}
			o.files = append(o.files, output{r.name, w, r.write})
		}
	}
	o.summary = stream{summary, f.text(summary)}
	o.live = reports.NewLive(os.Stderr, f.text(os.Stderr))
	return o, nil
}

// text tells how to write to a file: colours and redrawing only on a terminal
// whose user did not ask for plain text (NO_COLOR).
func (f *flags) text(file *os.File) reports.TextOptions {
	t := reports.TextOptions{Quiet: f.quiet, Terminal: term.IsTerminal(int(file.Fd()))}
	if !t.Terminal {
		return t
	}
	t.Color = !f.noColor && os.Getenv("NO_COLOR") == ""
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		t.Width = width
	}
	return t
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

func (o *outputs) close() {
	for _, f := range o.files {
		f.w.Close()
	}
}

// tell writes every report and the summary; all are tried.
func (o *outputs) tell(run *reports.Run) error {
	o.live.Close()
	var errs []error
	for _, f := range o.files {
		err := f.write(f.w, run)
		if closed := f.w.Close(); err == nil {
			err = closed
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	errs = append(errs, reports.WriteSummary(o.summary.w, run, o.summary.text))
	return errors.Join(errs...)
}
