package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// runPeer runs a target over stdio, or over HTTP at the address in the second
// argument.
func runPeer(role string) {
	if strings.HasPrefix(role, "peer-http") {
		servePeer(role, os.Args[2])
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	switch role {
	case "peer-not-found":
		for lines.Scan() {
			var m struct{ ID json.RawMessage }
			if json.Unmarshal(lines.Bytes(), &m) == nil && m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
			}
		}
	case "peer-silent":
		for lines.Scan() {
		}
	case "peer-exits", "peer-floods", "peer-hangs", "peer-long-line":
		misbehave(role, lines)
	case "peer-family": // starts a child, then answers nothing
		startChild()
		for lines.Scan() {
		}
	case "peer-child":
		time.Sleep(time.Minute) // much longer than its parent
	}
}

// startChild starts a process in a session of its own that does not end with its parent, and writes its
// process id to the file that MCPCHECK_TEST_PID names.
func startChild() {
	child := exec.Command(os.Args[0], "peer-child")
	child.Stdin, _ = os.Open(os.DevNull)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		panic(err)
	}
	pid := []byte(strconv.Itoa(child.Process.Pid))
	if err := os.WriteFile(os.Getenv("MCPCHECK_TEST_PID"), pid, 0o600); err != nil {
		panic(err)
	}
}

// misbehave opens a session correctly. It misbehaves from the third message on.
func misbehave(role string, lines *bufio.Scanner) {
	for n := 0; lines.Scan(); n++ {
		var m struct {
			ID     json.RawMessage
			Params struct{ ProtocolVersion string }
		}
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.Params.ProtocolVersion != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},`+
				`"serverInfo":{"name":"misbehaving","version":"1"}}}`+"\n", m.ID, m.Params.ProtocolVersion)
			continue
		}
		if n < 2 {
			continue
		}
		switch role {
		case "peer-exits":
			os.Exit(7)
		case "peer-floods":
			flood := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/x.example/tick"}`+"\n", 1000)
			for {
				if _, err := os.Stdout.WriteString(flood); err != nil {
					return
				}
			}
		case "peer-hangs":
			signal.Ignore(syscall.SIGTERM)
			time.Sleep(time.Minute) // it reads nothing more
		case "peer-long-line":
			chunk := []byte(strings.Repeat("x", 1<<20))
			for range 100 {
				if _, err := os.Stdout.Write(chunk); err != nil {
					return
				}
			}
			fmt.Println()
		}
	}
}
