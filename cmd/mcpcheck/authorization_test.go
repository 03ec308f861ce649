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

// serves starts a reference on HTTP and returns the first URL that it prints, and
// the lines that it tells beside.
func serves(t *testing.T, lines int, args ...string) (url, told string) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"reference"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errors, err := cmd.StderrPipe()
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
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(errors)
	for range lines {
		more, err := said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		told += more
	}
	return strings.Fields(line)[0], told
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcpcheck.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// passes counts the checks that pass at a revision, and objects to all that do
// not conform.
func passes(t *testing.T, r *reports.Run) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, o := range r.Outcomes {
		switch o.Verdict {
		case reports.Pass:
			n[o.Area]++
		case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
			t.Errorf("%s at %s: %s: %s%s", o.ID, o.Revision, o.Verdict, o.Detail, o.Cause)
		}
	}
	return n
}

const ofAuthorization = "authorization,security.*,mrtr.state.*,tasks.foreign.*,caching.p*"

// A protected server is judged by a token alone, and wholly by the tokens that our
// authorization server mints; no report shows any.
func TestProtectedServersAreJudged(t *testing.T) {
	t.Parallel()
	url, told := serves(t, 4, "server", "--http", "127.0.0.1:0", "--protected")
	token := regexp.MustCompile(`Bearer (\S+)`).FindStringSubmatch(told)
	config := regexp.MustCompile(`with in FILE: (.*)`).FindStringSubmatch(told)
	if token == nil || config == nil {
		t.Fatalf("it tells %q", told)
	}
	for name, c := range map[string]struct {
		args  []string
		least int
	}{
		"a token": {[]string{"--header", "Authorization: Bearer " + token[1]}, 40},
		"issuer":  {[]string{"--config", written(t, config[1])}, 60},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			r, run := report(t, append(c.args, "--allow-tools", "all", "--only", ofAuthorization, "--html", path, url)...)
			if r.code != exitConforms {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errors)
			}
			if got := passes(t, run)["authorization"]; got < c.least {
				t.Errorf("%d checks of authorization passed, not %d", got, c.least)
			}
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// Every token of ours begins like this, minted ones too.
			if all := string(page) + r.out + r.errors; strings.Contains(all, token[1][:20]) {
				t.Error("a report shows a token")
			}
		})
	}
}

// A failure is told without the token that shows it.
func TestFaultsOfProtectedServersAreToldWithoutTokens(t *testing.T) {
	t.Parallel()
	for fault, id := range map[string]string{"audience-unchecked": "authorization.audience.refused", "query-token-served": "authorization.query.refused"} {
		r, run := report(t, "--only", "authorization", "--spec", "2025-11-25", "--reference="+fault)
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

// The authorization server alone says where it is, and is what the configuration
// asks for; any other is refused.
func TestIssuersThatMintTokens(t *testing.T) {
	t.Parallel()
	issuer, _ := serves(t, 0, "authorization-server")
	res, err := http.Get(issuer + "/.well-known/oauth-authorization-server")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("its metadata was answered with %s", res.Status)
	}
	plain, _ := serves(t, 0, "server", "--http", "127.0.0.1:0")
	for name, c := range map[string]struct {
		issuer, says string
		code         int
	}{
		"ours":         {issuer, "", exitConforms},
		"no loopback":  {"https://auth.example", "is not on the loopback interface", exitUsage},
		"not there":    {"http://127.0.0.1:1", "refused", exitUsage},
		"of nobody":    {strings.TrimSuffix(plain, "/mcp"), "404", exitUsage},
		"unknown name": {"here", "is no URL", exitUsage},
	} {
		config := written(t, fmt.Sprintf("authorization: {issuer: %q}", c.issuer))
		r := run(t, "server", "--config", config, "--only", "ping.answered", "--spec", "2025-11-25", plain)
		if r.code != c.code || !strings.Contains(r.errors, c.says) {
			t.Errorf("%s: exit %d\n%s%s", name, r.code, r.out, r.errors)
		}
	}
}

// The last words of a server are told without the token that it was started with.
func TestLastWordsAreToldWithoutTokens(t *testing.T) {
	t.Parallel()
	r := run(t, "server", "--url", "http://"+free(t)+"/mcp", "--header", "Authorization: Bearer walrus", "--", os.Args[0], "peer-http-dies", "x")
	if r.code != exitUnreachable || strings.Contains(r.out+r.errors, "walrus") || !strings.Contains(r.out+r.errors, "the address belongs to a …") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errors)
	}
}
