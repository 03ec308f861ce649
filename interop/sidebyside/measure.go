package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// figures are the measurements of a run.
type figures struct {
	cpu   time.Duration // user and system, of the process and those it waited for
	wall  time.Duration
	peak  int64 // bytes: resident memory of the largest of these processes
	rules int   // that have a verdict
}

// measure runs a command and writes its output to a file. Exit code 1 is not an
// error: it means that the command found violations.
func measure(ctx context.Context, argv []string, output string) (figures, error) {
	out, err := os.Create(output)
	if err != nil {
		return figures{}, err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	err = cmd.Run()
	f := figures{wall: time.Since(began)}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		text, _ := os.ReadFile(output)
		return f, fmt.Errorf("%s: %w\n%s", argv[0], err, text)
	}
	f.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return f, errors.New("this system does not report the memory of a process")
	}
	f.peak = usage.Maxrss << 10
	return f, nil
}

// median returns the median of each figure.
func median(all []figures) figures {
	return figures{
		cpu:   middle(all, func(f figures) time.Duration { return f.cpu }),
		wall:  middle(all, func(f figures) time.Duration { return f.wall }),
		peak:  middle(all, func(f figures) int64 { return f.peak }),
		rules: middle(all, func(f figures) int { return f.rules }),
	}
}

// middle returns the median of one figure.
func middle[V cmp.Ordered](all []figures, of func(figures) V) V {
	values := make([]V, len(all))
	for i, f := range all {
		values[i] = of(f)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
