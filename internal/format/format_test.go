package format

import (
	"testing"
)

func TestURISyntax(t *testing.T) {
	for _, good := range []string{
		"a:", "file:///a/b%20c", "urn:isbn:0451450523", "http://[::1]:80/x?y#z", "test://static-text", "C:/x",
		"mailto:a@b.c", "x+y.z-1:(a)*'!",
	} {
		if why := URIProblem(good); why != "" {
			t.Errorf("%q: %s", good, why)
		}
	}
	for _, bad := range []string{
		"", "a", "/a/b", "1a:b", "file:///a b", "file:///ä", "a:%zz", `C:\x`, "a:{b}", "a:#b#c", "a:\x01",
	} {
		if URIProblem(bad) == "" {
			t.Errorf("%q passes for a URI", bad)
		}
	}
}

func TestTemplateSyntax(t *testing.T) {
	for _, good := range []string{
		"a://{b}", "a://{+b}/{c*}{?d,e}", "file:///{path}", "{b:3}", "ä{b.c}%20", "it's", "a://b", "",
	} {
		if !TemplateSyntax.MatchString(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{
		"a://{b", "a://b}", "a://{}", "a://{user-id}", "a://{b c}", "a b", "a://{b}}", "a://{{b}}", "%zz", "{b:0}",
	} {
		if TemplateSyntax.MatchString(bad) {
			t.Errorf("%q passes for a template", bad)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	for _, good := range []string{"text/plain", "image/svg+xml", "text/html; charset=utf-8", "application/vnd.a.b-c"} {
		if !MediaType.MatchString(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{"", "png", "image/", "/png", "image/png/x", "image png"} {
		if MediaType.MatchString(bad) {
			t.Errorf("%q passes for a media type", bad)
		}
	}
}
