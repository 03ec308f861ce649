package roots

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// A place is a folder of ours with a file in it.
type place struct{ file, content string }

// newPlace makes a folder below dir.
func newPlace(dir, name string) (place, error) {
	p := place{filepath.Join(dir, name, name+".txt"), "mcpcheck wrote this " + name + " the roots"}
	if err := os.Mkdir(filepath.Dir(p.file), 0o755); err != nil {
		return p, err
	}
	return p, os.WriteFile(p.file, []byte(p.content+"\n"), 0o600)
}

// newPlaces makes a folder below dir to be the root, and one beside it.
func newPlaces(dir string) (inside, outside place, err error) {
	if inside, err = newPlace(dir, "inside"); err == nil {
		outside, err = newPlace(dir, "outside")
	}
	return inside, outside, err
}

// expectRefused makes a folder the only root and calls the tools that take a path for
// a file in it and for one beside it, at the path that pathOf returns. A tool breaks
// the rule if it returns the content of the other file, or if it requests the roots and
// then does the same for both files.
func expectRefused(t *check.T, pathOf func(inside, outside string) string) {
	dir, err := os.MkdirTemp("", "mcpcheck-roots-")
	if err != nil {
		t.NotObserved("no folder for a root could be made: "+err.Error(),
			"let mcpcheck create folders in "+os.TempDir())
	}
	defer func() { _ = os.RemoveAll(dir) }()
	inside, outside, err := newPlaces(dir)
	if err != nil {
		t.NotObserved("no folder for a root could be made: "+err.Error(),
			"let mcpcheck create folders in "+os.TempDir())
	}
	tools := fileTools(t)
	root := check.Params{"uri": format.FileURI(filepath.Dir(inside.file)), "name": "inside"}
	asking.AnswerWith(t, asking.ListRoots, func(check.HostRequest) check.HostReply { return answerRoots(root) })
	asking.AnnounceRootsChange(t, asking.ListRoots)
	defer func() {
		t.Client().Answer(nil)
		asking.AnnounceRootsChange(t, asking.ListRoots)
	}()
	refused := false
	for _, tool := range tools {
		refused = tool.refuses(t, inside, outside, pathOf(inside.file, outside.file)) || refused
	}
	if !refused {
		t.NotObserved(noRefusal, check.AllowHint(toolcalls.Calls(t).NotAllowed))
	}
	t.Saw()
}

// A fileTool is a tool whose one required argument is a path or a file URI.
type fileTool struct {
	tool  gjson.Result
	arg   string
	isURI bool
	roots bool // the server requests roots on behalf of it
}

// Limits of the tools that are called, and of the calls for the file inside.
const maxFileTools, maxCalls = 4, 8

// fileTools returns the tools that may take a file. The body ends if the server
// requests no roots.
func fileTools(t *check.T) []fileTool {
	using := map[string]bool{} // by name of the tool
	for _, a := range rootsUsers(t) {
		if a.Method == "tools/call" {
			using[a.Name] = true
		}
	}
	if len(using) == 0 && !asking.RequestedRoots(t) {
		asking.EndWithoutTrigger(t, asking.ListRoots)
	}
	var out []fileTool
	for _, tool := range offer.Tools(t) {
		f, ok := fileToolOf(tool)
		if !ok || !t.Config().MayInvent(tool) || offer.RequiresTask(t, tool) ||
			check.HasTrait(t, offer.SlowTool(tool)) {
			continue
		}
		f.roots = using[tool.Get("name").String()]
		if out = append(out, f); len(out) == maxFileTools {
			break
		}
	}
	return out
}

// fileToolOf returns a tool whose one required argument is a path or a file URI; ok is
// false for other tools.
func fileToolOf(tool gjson.Result) (f fileTool, ok bool) {
	required := tool.Get("inputSchema.required").Array()
	arg := tool.Get("inputSchema.required.0").String()
	property, name := wire.Member(tool.Get("inputSchema.properties"), arg), strings.ToLower(arg)
	isURI := strings.Contains(name, "uri") || property.Get("format").String() == "uri" ||
		strings.HasPrefix(property.Get("pattern").String(), "^file:")
	isPath := strings.Contains(name, "path") || strings.Contains(name, "file")
	ok = len(required) == 1 && property.Get("type").String() == "string" && (isURI || isPath)
	return fileTool{tool: tool, arg: arg, isURI: isURI}, ok
}

// call calls the tool for a file.
func (f fileTool) call(t *check.T, path string) check.Reply {
	if f.isURI {
		path = "file://" + path
	}
	args := check.MustJSON(map[string]string{f.arg: path})
	return t.Client().Invoke("tools/call", offer.CallParams(f.tool, string(args)))
}

// refuses reports whether the tool gave the file inside and refused the other path. It
// fails the check if the tool gave both.
func (f fileTool) refuses(t *check.T, inside, outside place, path string) bool {
	succeeded := func(r check.Reply) bool { return r.Err == nil && check.Succeeded(t, r.Message) }
	given := f.call(t, inside.file)
	for n := 0; n < maxCalls && given.Err == nil && !succeeded(given); n++ {
		t.Try(t.Facts.BarrierMethod, nil) // it may still process the new roots
		given = f.call(t, inside.file)
	}
	if !succeeded(given) {
		return false
	}
	other := f.call(t, path)
	if !succeeded(other) {
		return other.Err == nil
	}
	withoutPath := func(r check.Reply, path string) string {
		return strings.ReplaceAll(r.Message.Result().Get("content").Raw, path, "PATH")
	}
	isShown := strings.Contains(other.Message.Result().Raw, outside.content)
	if isShown || f.roots && withoutPath(given, inside.file) == withoutPath(other, path) {
		t.Mark(other.Entry)
		t.Fail("a refusal", other.Message.Summary(), "the only root is %s; the tool %q took %s as well",
			filepath.Dir(inside.file), f.tool.Get("name"), path)
	}
	return false
}
