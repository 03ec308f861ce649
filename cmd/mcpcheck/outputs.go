package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
	next     func(*reports.Run) []reports.Step // what the user may run after it
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
	if err := f.requireOwnFiles(); err != nil {
		return nil, err
	}
	toStdout := "" // the flag of the report that goes there
	for _, r := range []struct {
		flag, name string
		write      func(io.Writer, *reports.Run) error
	}{
		{"json", f.json, reports.WriteJSON}, {"junit", f.junit, reports.WriteJUnit},
		{"html", f.html, reports.WriteHTML}, {"write-baseline", f.newBaseline, f.writeBaseline},
	} {
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

// writeBaseline writes a baseline that excuses what makes a run like this one exit with 1.
func (f *flags) writeBaseline(w io.Writer, run *reports.Run) error {
	if f.strict == reports.StrictOff {
		return reports.WriteBaseline(w, run, reports.Fail)
	}
	return reports.WriteBaseline(w, run, reports.Fail, reports.Warn)
}

// requireOwnFiles returns an error if two reports go to one file, or a report to a file
// that is read.
func (f *flags) requireOwnFiles() error {
	files := []struct{ flag, name string }{
		{"config", f.configFile}, {"baseline", f.baselineFile}, {"ca", f.ca}, // read
		{"json", f.json}, {"junit", f.junit}, {"html", f.html},
		{"write-baseline", f.newBaseline},
	}
	const read = 3
	for i := read; i < len(files); i++ {
		for _, other := range files[:i] {
			if files[i].name != "-" && isSameFile(files[i].name, other.name) {
				return fmt.Errorf("--%s and --%s name the same file: %s", other.flag, files[i].flag, files[i].name)
			}
		}
	}
	return nil
}

// isSameFile reports whether two names are of one regular file, which need not exist.
func isSameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	first, err1 := os.Stat(a)
	second, err2 := os.Stat(b)
	if err1 == nil && err2 == nil {
		return os.SameFile(first, second) && first.Mode().IsRegular()
	}
	a, err1 = filepath.Abs(a)
	b, err2 = filepath.Abs(b)
	return err1 == nil && err2 == nil && a == b
}

// textOptions returns how to write to a file: colors and redrawing only on a
// terminal, colors only if the user did not ask for plain text (NO_COLOR).
func (f *flags) textOptions(file *os.File) reports.TextOptions {
	o := reports.TextOptions{Quiet: f.quiet, Verbose: f.verbose, Terminal: term.IsTerminal(int(file.Fd()))}
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
	o.text.Next = o.next(run)
	errs = append(errs, reports.WriteSummary(o.summary, run, o.text))
	return errors.Join(errs...)
}
