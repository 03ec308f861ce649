package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/mcpcheck/mcpcheck/reports"
)

// outputs are where the result of a run goes: the report files, the summary and
// the progress. The files are opened before the target is started, so that one
// that cannot be written is reported in time.
type outputs struct {
	files    []outputFile
	summary  *os.File
	text     reports.TextOptions // of the summary
	progress *reports.Live
}

type outputFile struct {
	name  string
	w     io.WriteCloser
	write func(io.Writer, *reports.Run) error
}

// openOutputs opens the report files. The summary goes to stdout, or to stderr
// where a report goes to stdout; the progress goes to stderr.
func (f *flags) openOutputs() (*outputs, error) {
	o := &outputs{summary: os.Stdout, progress: reports.NewLive(os.Stderr, f.textOptions(os.Stderr))}
	toStdout := "" // the flag of the report that goes there
	for _, r := range []struct {
		flag, name string
		write      func(io.Writer, *reports.Run) error
	}{{"json", f.json, reports.WriteJSON}, {"junit", f.junit, reports.WriteJUnit}, {"html", f.html,
		reports.WriteHTML}} {
		switch {
		case r.name == "":
		case r.name == "-" && toStdout != "":
			o.close()
			return nil, fmt.Errorf("--%s and --%s cannot both go to stdout", toStdout, r.flag)
		case r.name == "-":
			toStdout, o.summary = r.flag, os.Stderr
			o.files = append(o.files, outputFile{"stdout", keepOpen{os.Stdout}, r.write})
		default:
			w, err := os.Create(r.name)
			if err != nil {
				o.close()
				return nil, fmt.Errorf("--%s: %w", r.flag, err)
			}
			o.files = append(o.files, outputFile{r.name, w, r.write})
		}
	}
	o.text = f.textOptions(o.summary)
	return o, nil
}

// textOptions returns how to write to a file: colors and redrawing only on a
// terminal, colors only if the user did not ask for plain text (NO_COLOR).
func (f *flags) textOptions(file *os.File) reports.TextOptions {
	o := reports.TextOptions{Quiet: f.quiet, Terminal: term.IsTerminal(int(file.Fd()))}
	if !o.Terminal {
		return o
	}
	o.Color = !f.noColor && os.Getenv("NO_COLOR") == ""
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		o.Width = width
	}
	return o
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

func (o *outputs) close() {
	for _, f := range o.files {
		f.w.Close()
	}
}

// write writes every report and the summary, even if one of them fails.
func (o *outputs) write(run *reports.Run) error {
	o.progress.Close()
	var errs []error
	for _, f := range o.files {
		err := f.write(f.w, run)
		if closeErr := f.w.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	errs = append(errs, reports.WriteSummary(o.summary, run, o.text))
	return errors.Join(errs...)
}
