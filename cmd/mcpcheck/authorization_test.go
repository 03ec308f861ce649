package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/reports"
)

// startServing starts a verb of the reference that serves over HTTP. It returns
// the first URL that it prints, and so many lines of its stderr.
func startServing(t *testing.T, lines int, args ...string) (url, log string) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"reference"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	})
	urls, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(stderr)
	for range lines {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		log += line
	}
	return strings.Fields(urls)[0], log
}

// countPasses counts the checks of an area that pass. It reports an error for
// each that neither passes nor is without verdict.
func countPasses(t *testing.T, r *reports.Run, area string) int {
	t.Helper()
	n := 0
	for _, o := range r.Outcomes {
		switch o.Verdict {
		case reports.Pass:
			if o.Area == area {
				n++
			}
		case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
			t.Errorf("%s at %s: %s: %s%s", o.ID, o.Revision, o.Verdict, o.Detail, o.Cause)
		}
	}
	return n
}

// protectedChecks are the checks that need a protected server.
const protectedChecks = "authorization,input-required.state.*"

// A protected server is tested with one token, and by more checks with the tokens
// that the reference authorization server mints. No output shows a token.
func TestProtectedServers(t *testing.T) {
	t.Parallel()
	url, log := startServing(t, 4, "server", "--http", "127.0.0.1:0", "--protected")
	token := regexp.MustCompile(`Bearer (\S+)`).FindStringSubmatch(log)
	config := regexp.MustCompile(`with this in FILE: (.*)`).FindStringSubmatch(log)
	if token == nil || config == nil {
		t.Fatalf("it printed %q", log)
	}
	for name, c := range map[string]struct {
		args []string
		want int // passes at least
	}{
		"token":  {[]string{"--header", "Authorization: Bearer " + token[1]}, 40},
		"issuer": {[]string{"--config", tempFile(t, "mcpcheck.yaml", config[1])}, 60},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			args := argv("--allow-tools all --only "+protectedChecks+" --html "+path+" "+url, c.args)
			r, run := runServer(t, args...)
			if r.code != exitConforms {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errors)
			}
			if got := countPasses(t, run, "authorization"); got < c.want {
				t.Errorf("%d checks of authorization pass, want %d", got, c.want)
			}
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// Every token of the reference begins in the same way.
			if all := string(page) + r.out + r.errors; strings.Contains(all, token[1][:20]) {
				t.Error("an output shows a token")
			}
		})
	}
}

// A failure is reported without the token that causes it.
func TestReportsOfProtectedServersHideTokens(t *testing.T) {
	t.Parallel()
	for fault, id := range map[string]string{
		"audience-unchecked": "authorization.audience.refused", "query-token-served": "authorization.query.refused",
	} {
		r, run := runServer(t, argv("--only authorization --spec 2025-11-25 --reference="+fault)...)
		found := false
		for _, o := range run.Outcomes {
			if o.ID == id {
				found = o.Verdict == reports.Fail || o.Verdict == reports.Warn
				for _, f := range o.Frames {
					if line := string(f.AppendJSON(nil)); strings.Contains(line, "eyJ") {
						t.Errorf("%s shows a token: %s", id, line)
					}
				}
			}
		}
		if !found || strings.Contains(r.out+r.errors, "eyJ") {
			t.Errorf("%s: exit %d\n%s%s", fault, r.code, r.out, r.errors)
		}
	}
}

// Only the reference authorization server is accepted as an issuer.
func TestAcceptsReferenceIssuerOnly(t *testing.T) {
	t.Parallel()
	issuer, _ := startServing(t, 0, "authorization-server")
	res, err := http.Get(issuer + "/.well-known/oauth-authorization-server")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("its metadata was answered with %s", res.Status)
	}
	url, _ := startServing(t, 0, "server", "--http", "127.0.0.1:0")
	for name, c := range map[string]struct {
		issuer, text string
		code         int
	}{
		"reference":      {issuer, "", exitConforms},
		"not loopback":   {"https://auth.example", "is not on the loopback interface", exitUsage},
		"no server":      {"http://127.0.0.1:1", "refused", exitUsage},
		"another server": {strings.TrimSuffix(url, "/mcp"), "404", exitUsage},
		"not a URL":      {"here", "is no URL", exitUsage},
	} {
		config := tempFile(t, "mcpcheck.yaml", fmt.Sprintf("authorization: {issuer: %q}", c.issuer))
		r := run(t, argv("server --only ping.answered --spec 2025-11-25 --config "+config+" "+url)...)
		if r.code != c.code || !strings.Contains(r.errors, c.text) {
			t.Errorf("%s: exit %d\n%s%s", name, r.code, r.out, r.errors)
		}
	}
}

// The stderr of a server is reported without the token that it was started with.
func TestReportedStderrHidesTokens(t *testing.T) {
	t.Parallel()
	args := []string{"server", "--url", "http://" + freeAddress(t) + "/mcp", "--header", "Authorization: Bearer tok3n"}
	r := run(t, append(args, peerProcess("peer-http-exits", "x")...)...)
	all := r.out + r.errors
	if r.code != exitUnreachable || strings.Contains(all, "tok3n") ||
		!strings.Contains(all, "started with the token …") {
		t.Errorf("exit %d\n%s", r.code, all)
	}
}
