package schema

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// ordinaryTools are the definitions of tools of ordinary servers, one a line.
func ordinaryTools(t testing.TB) []gjson.Result {
	t.Helper()
	text, err := os.ReadFile("testdata/tools.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []gjson.Result
	for line := range strings.Lines(string(text)) {
		if !gjson.Valid(line) {
			t.Fatalf("no JSON: %s", line)
		}
		out = append(out, gjson.Parse(line))
	}
	return out
}

// Every ordinary tool has valid arguments, in every style and for every seed, and
// invalid ones if it has a constraint.
func TestOrdinaryToolsHaveArguments(t *testing.T) {
	tools := ordinaryTools(t)
	if len(tools) < 60 {
		t.Errorf("only %d tools", len(tools))
	}
	s := countArguments(t, tools)
	t.Log(s)
	if s.made != s.requested || s.requested != 10*3*len(tools) {
		t.Errorf("arguments were generated %d of %d times", s.made, s.requested)
	}
	if s.invalid < 5*len(tools) {
		t.Errorf("only %d invalid arguments for %d tools", s.invalid, len(tools))
	}
}

type argumentCounts struct{ tools, requested, made, invalid, keywords int }

func (s argumentCounts) String() string {
	return fmt.Sprintf("%d tools: arguments generated %d of %d times, %d invalid arguments of %d keywords",
		s.tools, s.made, s.requested, s.invalid, s.keywords)
}

func countArguments(t *testing.T, tools []gjson.Result) argumentCounts {
	t.Helper()
	s := argumentCounts{tools: len(tools)}
	keywords := map[string]bool{}
	for _, tool := range tools {
		name, input := tool.Get("name").String(), []byte(tool.Get("inputSchema").Raw)
		g, err := NewGenerator(input)
		if err != nil {
			s.requested++
			t.Errorf("%s: %v", name, err)
			continue
		}
		judge, err := CompileToolAnyDialect(input)
		if err != nil {
			t.Fatal(err)
		}
		for _, style := range []Style{RequiredOnly, AllMembers, RandomMembers} {
			for seed := range uint64(10) {
				s.requested++
				args, err := g.Valid(seeded(seed), style)
				if err != nil {
					t.Errorf("%s, style %d: %v", name, style, err)
					continue
				}
				if broken, err := judge.Validate(args); err != nil || len(broken) > 0 {
					t.Errorf("%s, style %d: %s: %v, %v", name, style, args, broken, err)
					continue
				}
				s.made++
			}
		}
		all, err := g.Invalid(seeded(1), 100)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, m := range all {
			if broken, err := judge.Validate(m.JSON); err != nil || len(broken) == 0 {
				t.Errorf("%s: %s, but %s fits (%v)", name, m.Why, m.JSON, err)
			}
			keywords[m.Keyword] = true
		}
		s.invalid += len(all)
	}
	s.keywords = len(keywords)
	return s
}

// The tools of the pinned third-party servers have arguments, where the servers
// are installed.
func TestThirdPartyToolsHaveArguments(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "interop/build")); err != nil {
		t.Skip("the servers are not installed: interop/install does it")
	}
	text, err := os.ReadFile(filepath.Join(root, "interop/targets.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range gjson.GetBytes(text, "targets").Array() {
		if target.Get("kind").String() != "server" || target.Get("url").Exists() {
			continue // those at a URL offer the tools that they offer over stdio
		}
		name := target.Get("name").String()
		t.Run(name, func(t *testing.T) {
			tools := toolsOf(t, root, target)
			s := countArguments(t, tools)
			t.Log(s)
			if len(tools) == 0 || s.made != s.requested {
				t.Errorf("arguments were generated %d of %d times", s.made, s.requested)
			}
		})
	}
}

// toolsOf starts a server and returns its tools.
func toolsOf(t *testing.T, root string, target gjson.Result) []gjson.Result {
	t.Helper()
	var argv []string
	for _, a := range target.Get("command").Array() {
		argv = append(argv, a.String())
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = filepath.Join(root, target.Get("cwd").String())
	if strings.Contains(argv[0], "/") {
		cmd.Path = filepath.Join(root, argv[0])
	}
	cmd.Env = os.Environ()
	target.Get("env").ForEach(func(k, v gjson.Result) bool {
		cmd.Env = append(cmd.Env, k.String()+"="+strings.ReplaceAll(v.String(), "{root}", root))
		return true
	})
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer func() {
		limit.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewReaderSize(out, 1<<20)
	ask := func(id int, method string, params map[string]any) gjson.Result {
		raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(append(raw, '\n')); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			if m := gjson.ParseBytes(bytes.TrimSpace(line)); m.Get("id").Int() == int64(id) &&
				!m.Get("method").Exists() {
				return m.Get("result")
			}
		}
	}
	ask(1, "initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "mcpcheck", "version": "0"}})
	if _, err := in.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	return ask(2, "tools/list", map[string]any{}).Get("tools").Array()
}
