package main

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/reports"
)

// freeAddress returns an address at which no process listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A conforming server is detected and conforms on each transport, and mcpcheck
// ends its sessions.
func TestConformingServersOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		path      string
		args      []string
		transport string
		note      string
	}{
		"streamable HTTP detected": {"/mcp", nil, "http",
			"initialize by POST was answered with HTTP status 200 OK (application/json)"},
		"HTTP+SSE detected": {"/sse", nil, "sse", "GET with a stream that names the endpoint"},
		"streamable HTTP":   {"/mcp", []string{"--transport", "streamable-http"}, "http", "as requested"},
		"HTTP+SSE":          {"/sse", []string{"--transport", "sse"}, "sse", "as requested"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &miniServer{token: "s3cret"}
			site := httptest.NewServer(n)
			defer site.CloseClientConnections()
			r, report := runServer(t, append(c.args, "--skip", "authorization",
				"--header", "Authorization: Bearer s3cret", "--header", "X-Api-Key: s3cret", site.URL+c.path)...)
			if r.code != exitConforms {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errors)
			}
			passed := 0
			for _, o := range report.Outcomes {
				if o.Verdict == reports.Pass {
					passed++
				}
				if o.Transport != c.transport {
					t.Fatalf("%s was judged over %s", o.ID, o.Transport)
				}
				if o.Verdict == reports.Warn || o.Verdict == reports.Broken {
					t.Errorf("%s at %s: %s: %s", o.ID, o.Revision, o.Verdict, o.Detail)
				}
			}
			if passed < 50 {
				t.Errorf("%d checks passed", passed)
			}
			if !strings.Contains(strings.Join(report.Notes, "\n"), c.note) {
				t.Errorf("no note says %q: %q", c.note, report.Notes)
			}
			if report.Target.URL != site.URL+c.path || report.Target.Argv != nil {
				t.Errorf("the target is %+v", report.Target)
			}
			if c.transport == "http" && (n.opened == 0 || n.deleted != n.opened) {
				t.Errorf("%d sessions were opened and %d ended", n.opened, n.deleted)
			}
		})
	}
}

// mcpcheck speaks HTTP/2 to a server behind TLS whose certificate the user trusts.
func TestServerBehindTLS(t *testing.T) {
	var protocol atomic.Value
	n := &miniServer{}
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol.Store(r.Proto)
		n.ServeHTTP(w, r)
	}))
	site.EnableHTTP2 = true
	site.Config.ErrorLog = log.New(io.Discard, "", 0)
	site.StartTLS()
	defer site.Close()
	ca := certificateFile(t, site)
	if r := run(t, "server", site.URL+"/mcp"); r.code != exitUnreachable ||
		!strings.Contains(r.errors+r.out, "--ca FILE") {
		t.Errorf("without trust: exit %d\n%s%s", r.code, r.out, r.errors)
	}
	_, report := runServer(t, "--ca", ca, "--only", "ping.answered,tools.*", site.URL+"/mcp")
	if !slices.ContainsFunc(report.Outcomes, func(o reports.Outcome) bool {
		return o.ID == "ping.answered" &&
			o.Verdict == reports.Pass
	}) {
		t.Errorf("%+v", report.Outcomes)
	}
	if protocol.Load() != "HTTP/2.0" {
		t.Errorf("mcpcheck spoke %v", protocol.Load())
	}
}

// certificateFile returns a PEM file with the certificate of a server.
func certificateFile(t *testing.T, site *httptest.Server) string {
	t.Helper()
	block := pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}
	return tempFile(t, "ca.pem", string(pem.EncodeToMemory(&block)))
}

func TestErrorsOfHTTPFlags(t *testing.T) {
	site := httptest.NewServer(&miniServer{})
	t.Cleanup(site.Close)
	tlsSite := httptest.NewTLSServer(&miniServer{})
	t.Cleanup(tlsSite.Close)
	peer := peerProcess("peer-http", "x")
	header := func(line string) []string { return []string{"server", "--header", line, site.URL} }
	testExitCodes(t, map[string]exitCase{
		"--ca without file":        {argv("server --ca /no/such/ca.pem " + tlsSite.URL), 2, "/no/such/ca.pem"},
		"--ca without certificate": {argv("server --ca httppeer_test.go " + tlsSite.URL), 2, "has no PEM certificate"},
		"--ca without TLS": {
			argv("server --ca " + certificateFile(t, tlsSite) + " " + site.URL), 2, "--ca needs an https URL",
		},
		"two URLs":          {argv("server " + site.URL + " " + site.URL), 2, "after the URL"},
		"URL without host":  {argv("server http:///mcp"), 2, "names no host"},
		"unknown transport": {argv("server --transport pigeon " + site.URL), 2, `not "pigeon"`},
		"stdio at a URL": {
			argv("server --transport stdio " + site.URL), 2, "--transport stdio needs a command",
		},
		"SSE of a command":         {argv("server --transport sse -- true"), 2, "--transport sse needs a URL"},
		"header of a command":      {argv("server --header A:b -- true"), 2, "--header needs a URL"},
		"header without colon":     {header("s3cret"), 2, "has no colon"},
		"header without name":      {header("bad name: s3cret"), 2, `"bad name" is not a valid field name`},
		"header of the transport":  {header("accept: s3cret"), 2, "accept is set by mcpcheck itself"},
		"header with a line break": {header("X-A: s3cret\r\nB: c"), 2, "the value of X-A contains a control character"},
		"--url without command":    {argv("server --url " + site.URL), 2, "needs the command"},
		"--url and another URL":    {argv("server --url "+site.URL+" "+site.URL, peer), 2, "before --"},
		"--url without HTTP":       {argv("server --url ftp://x/", peer), 2, "is not of http or https"},
	})
}

func TestReportsUnreachableServers(t *testing.T) {
	site := httptest.NewServer(&miniServer{})
	t.Cleanup(site.Close)
	protected := httptest.NewServer(&miniServer{token: "x"})
	t.Cleanup(protected.Close)
	free := "http://" + freeAddress(t)
	testExitCodes(t, map[string]exitCase{
		"no server": {argv("server " + free + "/mcp"), 3, "connection refused"},
		"HTML page": {argv("server " + site.URL + "/page"), 3,
			"serves no MCP: server/discover by POST was answered with HTTP status 200 OK (text/html), " +
				"initialize by POST was answered with HTTP status 200 OK (text/html)"},
		"not found":     {argv("server " + site.URL + "/elsewhere"), 3, "GET opened no stream of HTTP+SSE"},
		"redirect":      {argv("server " + site.URL + "/moved"), 3, "to /mcp, which is not followed"},
		"protected":     {argv("server " + protected.URL + "/mcp"), 3, "--header 'Authorization: Bearer …'"},
		"not startable": {argv("server --url " + free + " -- no-such-program-here"), 3, "no-such-program-here"},
		"address in use": {
			argv("server --url "+site.URL, peerProcess("peer-http", "x")), 3, "listens at " + site.URL + " already",
		},
		"exits at the start": {argv("server --url "+free, peerProcess("peer-http-exits", "x")), 3,
			"exit status 3; its standard error ended with: started with the token tok3n"},
		"does not answer": {argv("server --start-timeout 300ms " + site.URL + "/silent"), 3,
			site.URL + "/silent serves no MCP: server/discover by POST was not answered within 300ms, " +
				"initialize by POST was not answered within 300ms"},
		"does not listen": {
			argv("server --url "+free+" --start-timeout 500ms", peerProcess("peer-http-never", "x")), 3,
			"accepts no connections after 500ms; its standard error ended with: waiting for the database",
		},
		"password in the URL": {
			argv("server " + strings.Replace(free, "//", "//me:s3cret@", 1) + "/mcp"), 3, "me:xxxxx@",
		},
	})
}

// mcpcheck waits for a server that it starts, and ends it with its children.
func TestStartsAndEndsServer(t *testing.T) {
	for _, role := range []string{"peer-http-late", "peer-http-family"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			address, pid := freeAddress(t), filepath.Join(t.TempDir(), "pid")
			r, report := runServer(t, "--url", "http://"+address+"/mcp", "--only", "jsonrpc,lifecycle", "--env",
				"MCPCHECK_TEST_PID="+pid, "--", os.Args[0], role, address)
			if r.code != exitConforms {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errors)
			}
			if report.Target.URL != "http://"+address+"/mcp" || len(report.Target.Argv) != 3 {
				t.Errorf("the target is %+v", report.Target)
			}
			if c, err := net.Dial("tcp", address); err == nil {
				c.Close()
				t.Error("the server still listens")
			}
			if text, err := os.ReadFile(pid); err == nil {
				child, _ := strconv.Atoi(string(text))
				awaitGone(t, child)
			}
		})
	}
}

// The command that a report names for a fail or warn shows it again: of a probe, of a
// judge of what another check sends, and of a server that ends.
func TestReportedCommandsShowTheirVerdicts(t *testing.T) {
	for _, fault := range []string{"ping-result-pong", "response-id-as-number", "exits-on-prompts-get"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			_, report := runServer(t, "--reference="+fault, "--spec", "2025-06-18")
			found := 0
			for _, o := range report.Outcomes {
				if o.Verdict != reports.Fail && o.Verdict != reports.Warn {
					continue
				}
				found++
				words := strings.Fields(o.Rerun)
				if len(words) < 2 || words[0] != "mcpcheck" || words[1] != "server" {
					t.Fatalf("%s has the command %q", o.ID, o.Rerun)
				}
				_, again := runServer(t, words[2:]...)
				at := slices.IndexFunc(again.Outcomes, func(x reports.Outcome) bool { return x.ID == o.ID })
				if at < 0 || again.Outcomes[at].Verdict != o.Verdict {
					t.Errorf("%s is %s: %s; not so with %s", o.ID, o.Verdict, o.Detail, o.Rerun)
				}
			}
			if found == 0 {
				t.Error("no check fails or warns")
			}
		})
	}
}

// A server at a URL that mcpcheck started is started again when it ends. One check reports
// the end, with the exit status and the standard error; none fails because of it.
func TestStartsServerAgainThatEnded(t *testing.T) {
	address := freeAddress(t)
	_, report := runServer(t, "--url", "http://"+address+"/mcp", "--spec", "2025-06-18", "--only", "resources,prompts",
		"--", os.Args[0], "peer-http-exits-on-read", address)
	for _, o := range report.Outcomes {
		switch {
		case o.ID == "resources.read.survived":
			notes := strings.Join(o.Notes, "\n")
			if o.Verdict != reports.Warn || !strings.Contains(o.Detail, "exit status 7") ||
				!strings.Contains(notes, "panic: no such file") {
				t.Errorf("%s is %s: %s\n%s", o.ID, o.Verdict, o.Detail, notes)
			}
		case o.Verdict == reports.Fail || o.Verdict == reports.Warn:
			t.Errorf("%s is %s: %s", o.ID, o.Verdict, o.Detail)
		case o.ID == "prompts.get.survived" && o.Verdict != reports.Pass:
			t.Errorf("after the restart %s is %s: %s", o.ID, o.Verdict, o.Detail)
		}
	}
}

func TestInterruptEndsAStartingServer(t *testing.T) {
	dir := t.TempDir()
	address, pid, report := freeAddress(t), filepath.Join(dir, "pid"), filepath.Join(dir, "report.json")
	cmd := exec.Command(binary, argv("server --url http://"+address+"/mcp --json "+report+
		" --env MCPCHECK_TEST_PID="+pid, peerProcess("peer-http-family-never", address))...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := awaitPID(t, pid)
	testInterrupted(t, cmd, os.Interrupt, report)
	awaitGone(t, child)
}
