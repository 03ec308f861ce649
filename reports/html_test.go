package reports

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mcpcheck/mcpcheck/internal/skip"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func renderHTML(t *testing.T, run *Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHTMLGolden(t *testing.T) { compareGolden(t, "small.html", []byte(renderHTML(t, smallRun()))) }

var (
	tagPattern  = regexp.MustCompile(`<(/?)([a-zA-Z!][a-zA-Z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"]*")?)*)\s*/?>`)
	attrPattern = regexp.MustCompile(`([a-zA-Z-]+)(?:="([^"]*)")?`)
)

// markup returns the page without the text of style and script, and that text.
func markup(page string) (rest, style, script string) {
	take := func(s, open, end string) (rest, taken string) {
		before, after, _ := strings.Cut(s, open)
		taken, after, _ = strings.Cut(after, end)
		return before + open + end + after, taken
	}
	rest, style = take(page, "<style>", "</style>")
	rest, script = take(rest, "<script>", "</script>")
	return rest, style, script
}

// All that a target sends is text in the page: every tag and attribute is one of
// the page's own, and every < begins a tag.
func TestHTMLEscapesTheTarget(t *testing.T) {
	elements := strings.Fields(
		"! html head meta title style body svg symbol path rect circle use a header p span h1 h2 h3 h4 small code " +
			"div dl dt dd main section ul ol li b table thead tbody tr th td i article form button label select " +
			"option " +
			"input output details summary br pre footer script")
	attributes := strings.Fields(
		"html lang charset http-equiv content name viewport class href id aria-labelledby aria-label aria-hidden " +
			"aria-live aria-pressed role tabindex scope colspan style type data-verdict data-verdicts data-check " +
			"data-area hidden open title rel placeholder autocomplete spellcheck value viewBox d fill stroke " +
			"stroke-width stroke-linecap stroke-linejoin stroke-dasharray x y rx width height cx cy r")
	for name, run := range map[string]*Run{"small": smallRun(), "hostile": hostileRun(), "empty": {}} {
		page := renderHTML(t, run)
		body, style, script := markup(page)
		if style != pageStyle || script != pageScript {
			t.Errorf("%s: style or script is not the page's own", name)
		}
		tags := tagPattern.FindAllStringSubmatch(body, -1)
		if n := strings.Count(body, "<"); n != len(tags) {
			t.Errorf("%s: %d characters < for %d tags", name, n, len(tags))
		}
		depth := map[string]int{}
		for _, tag := range tags {
			if !slices.Contains(elements, tag[2]) && tag[2] != "!DOCTYPE" {
				t.Errorf("%s: element %s", name, tag[0])
			}
			if tag[1] == "" {
				depth[tag[2]]++
			} else {
				depth[tag[2]]--
			}
			for _, a := range attrPattern.FindAllStringSubmatch(tag[3], -1) {
				if !slices.Contains(attributes, a[1]) {
					t.Errorf("%s: attribute %s in %.200s", name, a[1], tag[0])
				}
				if a[1] == "href" && !strings.HasPrefix(a[2], "#") &&
					!strings.HasPrefix(a[2], "https://modelcontextprotocol.io/") {
					t.Errorf("%s: link to %q", name, a[2])
				}
			}
		}
		for _, e := range strings.Fields(
			"html head body main header section article div dl dd dt ul ol li p table thead tbody tr th td details " +
				"summary span a svg code pre form button select option output h1 h2 h3 h4") {
			if depth[e] != 0 {
				t.Errorf("%s: %s is opened more often than closed: %+d", name, e, depth[e])
			}
		}
		for i, r := range body {
			if r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar {
				t.Fatalf("%s: %q in the page near %q", name, r, body[max(0, i-40):i+4])
			}
		}
	}
}

func TestHTMLDropsScriptLinks(t *testing.T) {
	run := &Run{Outcomes: []Outcome{{ID: "a", Verdict: Fail,
		Rules: []Rule{{ID: "r", Section: "s", URL: "javascript:alert(1)"}},
		Spec:  &Clause{Section: "s", URL: "javascript:alert(1)"},
	}}}
	if page := renderHTML(t, run); strings.Contains(page, "javascript:") {
		t.Error("a link runs a script")
	}
}

// Neither markup nor style names a resource, and the policy forbids to load one.
func TestHTMLLoadsNothing(t *testing.T) {
	body, style, _ := markup(renderHTML(t, largeRun(t)))
	for _, s := range []string{"src=", "<link", "<img", "<iframe", "@import", "url("} {
		if strings.Contains(body+style, s) {
			t.Errorf("the page holds %s", s)
		}
	}
	if !strings.Contains(html.UnescapeString(body),
		`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-`) {
		t.Error("the page has no policy")
	}
}

// Every outcome has its anchor once, every link within the page has its target,
// and the totals are those of the run.
func TestHTMLHasEveryOutcome(t *testing.T) {
	id := regexp.MustCompile(` id="([^"]*)"`)
	link := regexp.MustCompile(` href="#([^"]*)"`)
	for name, run := range map[string]*Run{"small": smallRun(), "large": largeRun(t)} {
		body, _, _ := markup(renderHTML(t, run))
		text := html.UnescapeString(body)
		ids := make(map[string]int)
		for _, m := range id.FindAllStringSubmatch(body, -1) {
			ids[html.UnescapeString(m[1])]++
		}
		for k, n := range ids {
			if n > 1 {
				t.Errorf("%s: id %s is there %d times", name, k, n)
			}
		}
		for _, o := range run.Outcomes {
			want := o.ID + "@" + string(o.Revision)
			if o.Transport != "stdio" {
				want += "@" + o.Transport
			}
			if ids[want] != 1 {
				t.Errorf("%s: outcome %s is there %d times", name, want, ids[want])
			}
			if !strings.Contains(body, fmt.Sprintf(`title="%s at %s %s: %s`, o.ID, o.Revision, o.Transport,
				o.Verdict)) {
				t.Errorf("%s: %s is not in the matrix as %s", name, want, o.Verdict)
			}
			texts := []string{o.Detail, o.Expected, o.Got, o.Cause, o.Hint, o.Baselined}
			if o.Verdict == Fail || o.Verdict == Warn {
				texts = append(texts, o.Rerun)
			}
			for _, s := range texts {
				if !strings.Contains(text, escape(s, "")) {
					t.Errorf("%s: %s lacks %q", name, want, s)
				}
			}
		}
		for _, m := range link.FindAllStringSubmatch(body, -1) {
			if ids[html.UnescapeString(m[1])] != 1 && !strings.HasPrefix(m[1], "icon-") {
				t.Errorf("%s: a link leads to #%s, which does not exist", name, m[1])
			}
		}
		for v, n := range run.Totals {
			if n > 0 && !strings.Contains(body, fmt.Sprintf(`/></svg>%d</span> <b>%s</b>`, n, v)) {
				t.Errorf("%s: the total of %s is not %d", name, v, n)
			}
		}
	}
}

func TestHTMLOfALargeRunIsSmall(t *testing.T) {
	run := largeRun(t)
	if n := len(run.Outcomes); n < 550 {
		t.Fatalf("the sample has %d outcomes", n)
	}
	if n := len(renderHTML(t, run)); n > 1_500_000 {
		t.Errorf("%d outcomes take %d bytes", len(run.Outcomes), n)
	} else {
		t.Logf("%d outcomes take %d bytes", len(run.Outcomes), n)
	}
}

// The size of the page is bounded for any size of the frames.
func TestHTMLFramesAreBounded(t *testing.T) {
	t.Parallel()
	run := &Run{}
	for i := range 200 {
		var frames []wire.Frame
		for range 100 {
			frames = append(frames, wire.Frame{From: wire.Server,
				Raw: []byte(`{"x":"` + strings.Repeat("y", 20_000) + `"}`)})
		}
		frames[50].Marked = true
		run.Outcomes = append(run.Outcomes, Outcome{ID: fmt.Sprintf("a.c%d", i), Verdict: Fail, Frames: frames})
	}
	page := renderHTML(t, run)
	if len(page) > 6<<20 {
		t.Errorf("400 MB of frames make a page of %d bytes", len(page))
	}
	for _, s := range []string{"100 frames, 1 marked", "36 frames omitted here", "35 frames omitted here",
		"the whole frame of 20,008 bytes"} {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %q", s)
		}
	}
}

func TestHTMLShowsFrames(t *testing.T) {
	v := newFrameBudget(&Run{}).view(smallRun().Outcomes[1].Frames, true)
	if v.Summary != "4 frames, 1 marked" || len(v.Items) != 4 {
		t.Fatalf("%+v", v)
	}
	if f := v.Items[1]; !f.Mark || f.From != "server" || f.To != "client" || f.At != "4.0 ms" || f.Kind != "" ||
		f.Body != `{"jsonrpc": "2.0",  "id":2,\t"result":{"a":1e2, "b":"<b>&"}}` {
		t.Errorf("%+v", f)
	}
	if f := v.Items[2]; f.Kind != "not JSON" || !strings.HasPrefix(f.Body, `not json \xff</script>`) {
		t.Errorf("%+v", f)
	}
	if f := v.Items[3]; f.Note != "line cut at 10 bytes" {
		t.Errorf("%+v", f)
	}
	id := "7"
	post := viewFrame(wire.Frame{From: wire.Client, Raw: []byte(`{}`),
		HTTP: &wire.HTTP{Exchange: 3, Method: "POST", URL: "/mcp",
			Header: map[string][]string{"B": {"2"}, "A": {"<1>"}}}}, 1<<20)
	if post.HTTP != "POST /mcp\nA: <1>\nB: 2" || post.Exchange != "exchange 3" || post.Size != "2 bytes" {
		t.Errorf("%+v", post)
	}
	event := viewFrame(wire.Frame{From: wire.Server,
		HTTP: &wire.HTTP{Exchange: 3, Status: 200,
			Event: &wire.Event{Type: "tide", ID: &id, Comments: []string{" low"},
				IgnoredLines: []string{"foam"}}, EndReason: "the stream ended", Body: "water\nhigh"}}, 1<<20)
	if want := "HTTP status 200 OK\n: low\nevent: tide\nid: 7\nfoam   (not a field of an event)\n" +
		"(ended: the stream ended)\n\nwater\nhigh"; event.HTTP != want || event.Size != "" || event.Kind != "" {
		t.Errorf("%+v", event)
	}
	long := `{"a":"` + strings.Repeat("b", 200) + `","n":1e400,"d":1,"d":2}`
	f := viewFrame(wire.Frame{From: wire.Client, Raw: []byte(long)}, 1<<20)
	if want := "{\n  \"a\": \"" + strings.Repeat("b", 200) +
		"\",\n  \"n\": 1e400,\n  \"d\": 1,\n  \"d\": 2\n}"; f.Body != want {
		t.Errorf("indenting changed a token: %s", f.Body)
	}
}

func TestHTMLIsDeterministic(t *testing.T) {
	run := largeRun(t)
	first := renderHTML(t, run)
	for range 5 {
		if renderHTML(t, run) != first {
			t.Fatal("two pages of one run differ")
		}
	}
}

func TestProseRendersCodeOnly(t *testing.T) {
	for in, want := range map[string]string{
		"a `b<i>` & `c`":  "a <code>b&lt;i&gt;</code> &amp; <code>c</code>",
		"<b>`":            "&lt;b&gt;`",
		"`<b>` `<c>":      "`&lt;b&gt;` `&lt;c&gt;",
		"`</code><img>` ": "<code>&lt;/code&gt;&lt;img&gt;</code> ",
	} {
		if got := string(prose(in)); got != want {
			t.Errorf("prose(%q) = %s, want %s", in, got, want)
		}
	}
}

// loadInBrowser returns the document that a browser makes of a page.
func loadInBrowser(t *testing.T, page, suffix string) string {
	t.Helper()
	browser := skip.WithoutProgram(t, "chromium")
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu",
		"--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+path+suffix)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		skip.Missing(t, fmt.Sprintf("a chromium that starts (%v)", err))
	}
	return string(out)
}

// A browser runs the page's own script under its policy and no script of the
// target: the filters and the count of checks are shown, and the document has no
// element that the page did not write.
func TestBrowserRunsNoScriptOfTheTarget(t *testing.T) {
	t.Parallel()
	dom := loadInBrowser(t, renderHTML(t, hostileRun()), "")
	if !strings.Contains(dom, `<output aria-live="polite">10 checks</output>`) ||
		strings.Contains(dom, `<form class="filters" hidden`) {
		t.Error("the script of the page did not run")
	}
	if strings.Contains(dom, "<img") || strings.Contains(dom, "onerror=\"") || strings.Count(dom, "<script") != 1 {
		t.Error("the document has markup of the target")
	}
}

func TestBrowserFiltersAndLinks(t *testing.T) {
	t.Parallel()
	page := renderHTML(t, smallRun())
	for _, c := range []struct{ suffix, shown string }{
		{"?verdict=fail&verdict=broken", "tools.call.unknown ping.answer logging.level"},
		{"?text=rule+PANIC", ""},
		{"?text=INDEX+panic", "ping.answer"},
		{"?area=tools&verdict=warn", "tools.names"},
		// A link to a hidden check resets the filter.
		{"?area=ping#tools.names@2025-06-18",
			"jsonrpc.id tools.call.unknown tools.names ping.answer ping.late ping.twice ping.survived " +
				"pagination.cursor prompts.get logging.level"},
	} {
		dom := loadInBrowser(t, page, c.suffix)
		var shown, rows []string
		for _, m := range regexp.MustCompile(`<details class="check" id="([^"]*)"[^>]*>`).FindAllStringSubmatch(dom,
			-1) {
			if !strings.Contains(m[0], " hidden") {
				shown = append(shown, m[1])
			}
			if m[1] == "tools.names" && strings.Contains(c.suffix, "#") && !strings.Contains(m[0], " open") {
				t.Errorf("%s: the check that the link leads to is closed", c.suffix)
			}
		}
		for _, m := range regexp.MustCompile(`<tr data-check="([^"]*)"[^>]*>`).FindAllStringSubmatch(dom, -1) {
			if !strings.Contains(m[0], " hidden") {
				rows = append(rows, m[1])
			}
		}
		if got := strings.Join(shown, " "); got != c.shown {
			t.Errorf("%s shows %q, want %q", c.suffix, got, c.shown)
		}
		if !slices.Equal(shown, rows) {
			t.Errorf("%s: the matrix shows %v, the details %v", c.suffix, rows, shown)
		}
	}
}

// The revisions are sorted by date over all variants.
func TestPlacesOfAProblemAreSorted(t *testing.T) {
	at := func(revisions ...spec.Revision) (k variant) {
		for _, r := range revisions {
			k.Outcome = Outcome{ID: "tools.names", Revision: r, Transport: "stdio"}
			k.Places = append(k.Places, k.Outcome)
		}
		return k
	}
	v06, v11, v24 := spec.V2025_06_18, spec.V2025_11_25, spec.V2024_11_05
	var got []string
	for _, p := range viewProblem(problem{Variants: []variant{at(v06, v11), at(v24)}}).Places {
		got = append(got, p.Name)
	}
	if want := []string{string(v24), string(v06), string(v11)}; !slices.Equal(got, want) {
		t.Errorf("the places are %v, want %v", got, want)
	}
}
