package reports

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed html/*.tmpl
var pageTemplates embed.FS

//go:embed html/style.css
var pageStyle string

//go:embed html/script.js
var pageScript string

// WriteHTML writes the run as one page that loads no other file. A content
// security policy forbids every request and every script but the page's own, so
// that a target cannot run code in the page even if an escape is missing.
// Without scripts the page lacks its filters and nothing else.
//
// Each outcome has the anchor CHECK@REVISION, on other transports than stdio
// CHECK@REVISION@TRANSPORT.
func WriteHTML(w io.Writer, run *Run) error {
	functions := template.FuncMap{"prose": prose, "fragment": fragment}
	t, err := template.New("page.tmpl").Funcs(functions).ParseFS(pageTemplates, "html/*.tmpl")
	if err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := t.Execute(out, newPage(run)); err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	return nil
}

// policy is the content security policy of the page.
func policy() string {
	hash := sha256.Sum256([]byte(pageScript))
	script := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
	return "default-src 'none'; style-src 'unsafe-inline'; " + script + "; base-uri 'none'; form-action 'none'"
}

// prose escapes a sentence and renders text between backticks as code.
func prose(s string) template.HTML {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 { // the last backtick has no partner
		return template.HTML(template.HTMLEscapeString(s))
	}
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 0 {
			b.WriteString(template.HTMLEscapeString(part))
		} else {
			b.WriteString("<code>" + template.HTMLEscapeString(part) + "</code>")
		}
	}
	return template.HTML(b.String())
}

// fragment returns a link within the page. The link is one value, because the
// template would escape an @ that follows a # of its own text.
func fragment(id ...any) string { return "#" + fmt.Sprint(id...) }

// anchor is the id of an outcome in the page; it is stable over runs.
func anchor(o Outcome) string {
	s := o.ID + "@" + string(o.Revision)
	if o.Transport != "stdio" {
		s += "@" + o.Transport
	}
	return strings.ReplaceAll(escape(s, ""), " ", "_")
}
