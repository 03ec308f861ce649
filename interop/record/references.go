package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

// protected is the reference server that serves a request with an access token
// only. A process of its own has to run before mcpcheck asks it for tokens.
const protected = "reference-http-protected"

// references returns the reference server and client in the forms that the
// command line offers. Those with a command run in a process of their own.
func references() []target.Target {
	const http, local = "streamable-http", "127.0.0.1:{port}"
	inProcess := func(name, kind string, flags ...string) target.Target {
		return target.Target{Name: "reference-" + name, Kind: kind, Flags: append([]string{"--reference"}, flags...)}
	}
	command := func(name, url string, args ...string) target.Target {
		t := target.Target{Name: "reference-" + name, Kind: "server", URL: url, Flags: []string{"--allow-tools", "all"}}
		t.Command = append([]string{"{mcpcheck}", "reference", "server"}, args...)
		return t
	}
	out := []target.Target{
		inProcess("stdio-serial", "server", "--serial"),
		{Name: protected, Kind: "server", Flags: []string{"--allow-tools", "all"}},
		command("stdio-process", "", "--stdio"),
		command("stdio-modern", "", "--stdio", "--spec", "2026-07-28"),
		command("http-process", "http://"+local+"/mcp", "--http", local),
		command("http-modern", "http://"+local+"/mcp", "--http", local, "--spec", "2026-07-28"),
		command("http-stateless", "http://"+local+"/mcp", "--http", local, "--stateless"),
		command("http-streams", "http://"+local+"/mcp", "--http", local, "--prefer-sse"),
		command("sse-process", "http://"+local+"/sse", "--http", local),
	}
	for _, over := range []string{"stdio", http, "sse"} {
		name := strings.TrimPrefix(over, "streamable-")
		out = append(out,
			inProcess(name, "server", "--transport", over),
			inProcess(name+"-official", "server", "--transport", over, "--profile", "official"),
			inProcess("client-"+name, "client", "--transport", over))
	}
	return out
}

// serveProtected starts the protected reference server, writes the configuration
// that it prints to a file, and returns the arguments of mcpcheck that judge it.
func serveProtected(binary, config string) (flags []string, stop func(), err error) {
	cmd := exec.Command(binary, "reference", "server", "--http", "127.0.0.1:0", "--protected")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	authorization, err := readFrom(stderr, "authorization: {")
	if err == nil {
		err = os.WriteFile(config, []byte(authorization+"\n"), 0o600)
	}
	var urls string
	if err == nil {
		urls, err = readFrom(stdout, "http://")
	}
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("start the protected reference server: %w", err)
	}
	url, _, _ := strings.Cut(urls, " ")
	return []string{"--config", config, url}, stop, nil
}

// readFrom returns the rest of the first line that contains a text, from that
// text on. What follows the line is read and dropped.
func readFrom(r io.Reader, text string) (string, error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if i := strings.Index(lines.Text(), text); i >= 0 {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			return lines.Text()[i:], nil
		}
	}
	return "", fmt.Errorf("it printed no line with %q: %w", text, io.ErrUnexpectedEOF)
}
