package roots

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// probes are the probes of client/roots.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "roots.change.survived",
			Says:  "the server goes on after the client told that its roots changed",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"roots-server-handles-list-changes"},
			Probe: func(t *check.T) {
				t.Notify("notifications/roots/list_changed", nil)
				t.Survives("notifications/roots/list_changed")
			},
		},
		{
			ID:    "roots.change.relisted",
			Says:  "a server that uses roots asks for them again after they changed",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"roots-server-relists"},
			// rootsRelisted accepts as well that the server asks when it next needs them:
			// one that keeps no roots is never wrong about them.
			Probe: func(t *check.T) {
				users := asking.Askers(t)
				users = slices.DeleteFunc(slices.Clone(users), func(a asking.Asker) bool { return !a.AsksFor(asking.ListRoots) })
				if len(users) == 0 && !asking.AsksRoots(t) {
					asking.NothingAsks(t, asking.ListRoots)
				}
				asks := func(m wire.Message) bool { return m.Kind == wire.Request && m.Method() == asking.ListRoots }
				at := t.Notify("notifications/roots/list_changed", nil)
				for _, a := range users[:min(len(users), 1)] {
					if _, err := t.Client().Invoke(a.Method, a.Params).Get(); err != nil {
						t.NotObserved("the request that uses roots was not answered: "+err.Error(), "")
					}
				}
				if _, again := t.AwaitBarrier(at, asks); !again {
					t.Fail("a request roots/list", "none", "the server asked for the roots before, and does not ask again after it was told that they changed")
				}
			},
		},
		{
			ID:    "roots.unavailable",
			Says:  "a request that needs roots is answered when there are none any more",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"roots-server-handles-unavailable"},
			// rootsUnavailable takes the one root away between two requests.
			Probe: func(t *check.T) {
				a := asking.AskersFor(t, asking.ListRoots)[0]
				for _, list := range [][]any{session.Roots()["roots"].([]any), {}, {}} {
					asking.Answering(t, asking.ListRoots, func(check.Asked) check.ClientAnswer { return check.ClientAnswer{Result: check.Params{"roots": list}} })
					asking.Renewed(t, asking.ListRoots)
					if _, err := t.Client().Invoke(a.Method, a.Params).Get(); err != nil {
						t.Fail("an answer to "+a.Method, err.Error(), "%s was sent while the client had %d roots: %v", a, len(list), err)
					}
				}
				t.Survives("the roots became unavailable")
			},
		},
		{
			ID:    "roots.boundaries",
			Says:  "a file outside of the roots is out of reach",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"roots-server-respects-boundaries", "roots-server-boundaries-guideline"},
			Probe: func(t *check.T) { rootsKept(t, func(inside, outside string) string { return outside }) },
		},
		{
			ID:    "roots.paths",
			Says:  "a path that climbs out of the roots is refused",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"roots-server-validates-paths"},
			Probe: func(t *check.T) {
				rootsKept(t, func(inside, outside string) string {
					return filepath.Dir(inside) + "/../" + filepath.Base(filepath.Dir(outside)) + "/" + filepath.Base(outside)
				})
			},
		},
		{
			ID:    "roots.answers.survived",
			Says:  "a request that asks for roots is answered whatever the client answers, and the server lives",
			Level: spec.Robust,
			In:    spec.Handshake,
			Spec:  "client/roots#error-handling",
			Probe: func(t *check.T) { expect.AnswersSurvived(t, asking.ListRoots) },
		},
	}
}

// A place is a folder of ours with a file in it.
type place struct{ file, mark string }

// newPlace makes a folder below dir.
func newPlace(dir, name string) (place, error) {
	p := place{filepath.Join(dir, name, name+".txt"), "mcpcheck wrote this " + name + " the roots"}
	if err := os.Mkdir(filepath.Dir(p.file), 0o755); err != nil {
		return p, err
	}
	return p, os.WriteFile(p.file, []byte(p.mark+"\n"), 0o600)
}

// rootsKept makes a folder the only root, and asks the tools that take a path
// for a file in it and for one beside it. A tool is at fault that shows what is
// in the other, or that asks for the roots and then does for the other what it
// did for the one.
func rootsKept(t *check.T, lead func(inside, outside string) string) {

	dir, err := os.MkdirTemp("", "mcpcheck-roots-")
	if err != nil {
		t.NotObserved("no folder could be made to be a root: "+err.Error(), "")
	}
	defer func() { _ = os.RemoveAll(dir) }()
	inside, err := newPlace(dir, "inside")
	if err != nil {
		t.NotObserved("no folder could be made to be a root: "+err.Error(), "")
	}
	outside, err := newPlace(dir, "outside")
	if err != nil {
		t.NotObserved("no folder could be made beside a root: "+err.Error(), "")
	}
	tools := fileTools(t)
	asking.Answering(t, asking.ListRoots, func(check.Asked) check.ClientAnswer {
		return check.ClientAnswer{Result: check.Params{"roots": []any{check.Params{"uri": format.FileURI(filepath.Dir(inside.file)), "name": "inside"}}}}
	})
	asking.Renewed(t, asking.ListRoots)
	defer func() { t.Client().Answer(nil); asking.Renewed(t, asking.ListRoots) }()
	kept := false
	for _, tool := range tools {
		kept = tool.keeps(t, inside, outside, lead(inside.file, outside.file)) || kept
	}
	if !kept {
		t.NotObserved("no tool that may be called gave a file of the root, and refused another", check.AllowHint(toolcalls.Calls(t).Held))
	}

}

// A fileTool is a tool whose one required argument is a path or a file URI.
type fileTool struct {
	tool  gjson.Result
	arg   string
	uri   bool
	roots bool // it was seen to ask for roots
}

// Bounds of the tools that are asked for files, and of how often for the one
// inside.
const maxFileTools, maxLooks = 4, 8

// fileTools returns the tools that may take a file; none unless the server
// asks for roots.
func fileTools(t *check.T) []fileTool {
	using := map[string]bool{}
	for _, a := range asking.Askers(t) {
		if a.Method == "tools/call" && a.AsksFor(asking.ListRoots) {
			using[a.Name] = true
		}
	}
	if len(using) == 0 && !asking.AsksRoots(t) {
		asking.NothingAsks(t, asking.ListRoots)
	}
	var out []fileTool
	for _, tool := range offer.Tools(t) {
		arg := tool.Get("inputSchema.required.0").String()
		property := wire.Member(tool.Get("inputSchema.properties"), arg)
		name := strings.ToLower(arg)
		uri := strings.Contains(name, "uri") || property.Get("format").String() == "uri" || strings.HasPrefix(property.Get("pattern").String(), "^file:")
		path := strings.Contains(name, "path") || strings.Contains(name, "file")
		if len(tool.Get("inputSchema.required").Array()) != 1 || property.Get("type").String() != "string" || !uri && !path ||
			!t.Config().MayCall(tool) || offer.OnlyAsTask(t, tool) || check.Has(t, offer.SlowTool(tool)) {
			continue
		}
		if out = append(out, fileTool{tool, arg, uri, using[tool.Get("name").String()]}); len(out) == maxFileTools {
			break
		}
	}
	return out
}

// call asks the tool for a file.
func (f fileTool) call(t *check.T, path string) (wire.Entry, bool) {
	if f.uri {
		path = "file://" + path
	}
	args, err := json.Marshal(map[string]string{f.arg: path})
	if err != nil {
		return wire.Entry{}, false
	}
	e, err := t.Client().Invoke("tools/call", offer.CallParams(f.tool, string(args))).Get()
	return e, err == nil
}

// keeps tells whether the tool gave the file inside and refused the other, and
// fails where it gave both.
func (f fileTool) keeps(t *check.T, inside, outside place, path string) bool {
	yes, ok := f.call(t, inside.file)
	for n := 0; n < maxLooks && ok && !check.Succeeded(t, yes.Message); n++ {
		t.Try(t.Facts.Barrier, nil) // it may be at work on the new roots still
		yes, ok = f.call(t, inside.file)
	}
	if !ok || !check.Succeeded(t, yes.Message) {
		return false
	}
	no, ok := f.call(t, path)
	if !ok || !check.Succeeded(t, no.Message) {
		return ok
	}
	plain := func(m wire.Message, path string) string {
		return strings.ReplaceAll(m.Result().Get("content").Raw, path, "PATH")
	}
	switch shown := strings.Contains(no.Message.Result().Raw, outside.mark); {
	case shown, f.roots && plain(yes.Message, inside.file) == plain(no.Message, path):
		t.Mark(no)
		t.Fail("a refusal", no.Message.Summary(), "the only root is %s; the tool %q took %s as well", filepath.Dir(inside.file), f.tool.Get("name"), path)
	}
	return false
}
