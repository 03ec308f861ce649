// Command server is a small notes server on mcp-go, over stdio.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var (
	mu    sync.Mutex // guards notes: handlers run concurrently
	notes = map[string]string{
		"groceries": "Milk, eggs and flour.",
		"travel":    "The train leaves at nine. Pack the blue bag.",
		"ideas":     "Write a shorter readme.",
	}
)

func searchNotes(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	phrase, err := req.RequireString("phrase")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	limit := req.GetInt("limit", 10)
	mu.Lock()
	defer mu.Unlock()
	var found []string
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		if len(found) < limit && strings.Contains(strings.ToLower(notes[name]), strings.ToLower(phrase)) {
			found = append(found, name+": "+notes[name])
		}
	}
	if len(found) == 0 {
		found = append(found, "nothing found")
	}
	return mcp.NewToolResultText(strings.Join(found, "\n")), nil
}

type count struct {
	Notes int `json:"notes"`
	Words int `json:"words"`
}

func countWords(context.Context, mcp.CallToolRequest, struct{}) (count, error) {
	mu.Lock()
	defer mu.Unlock()
	c := count{Notes: len(notes)}
	for _, text := range notes {
		c.Words += len(strings.Fields(text))
	}
	return c, nil
}

func deleteNote(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := req.RequireString("name")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	mu.Lock()
	defer mu.Unlock()
	if _, ok := notes[name]; !ok {
		return mcp.NewToolResultError(fmt.Sprintf("there is no note named %q", name)), nil
	}
	delete(notes, name)
	return mcp.NewToolResultText("deleted " + name), nil
}

func readNote(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	mu.Lock()
	defer mu.Unlock()
	text := strings.Join(slices.Sorted(maps.Keys(notes)), "\n")
	if name, ok := strings.CutPrefix(req.Params.URI, "notes://note/"); ok {
		if text, ok = notes[name]; !ok {
			return nil, fmt.Errorf("there is no note named %q", name)
		}
	}
	return []mcp.ResourceContents{
		mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: text},
	}, nil
}

func summarize(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	mu.Lock()
	defer mu.Unlock()
	text := "Summarize this note: " + notes[req.Params.Arguments["name"]]
	return mcp.NewGetPromptResult("A summary of one note", []mcp.PromptMessage{
		mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text)),
	}), nil
}

func main() {
	s := server.NewMCPServer("notes", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithResourceCapabilities(false, false),
		server.WithPromptCapabilities(false),
		server.WithRecovery(),
	)
	s.AddTool(mcp.NewTool("search_notes",
		mcp.WithDescription("Find the notes whose text holds a phrase"),
		mcp.WithString("phrase", mcp.Required(), mcp.Description("Text to look for, case-insensitive")),
		mcp.WithNumber("limit", mcp.Description("How many notes to return at most")),
		mcp.WithReadOnlyHintAnnotation(true),
	), searchNotes)
	s.AddTool(mcp.NewTool("count_words",
		mcp.WithDescription("Count the words of all notes"),
		mcp.WithOutputSchema[count](),
		mcp.WithReadOnlyHintAnnotation(true),
	), mcp.NewStructuredToolHandler(countWords))
	s.AddTool(mcp.NewTool("delete_note",
		mcp.WithDescription("Delete a note by its name"),
		mcp.WithString("name", mcp.Required(), mcp.Description("Name of the note")),
	), deleteNote)
	s.AddResource(mcp.NewResource("notes://index", "index", mcp.WithMIMEType("text/plain")), readNote)
	s.AddResourceTemplate(mcp.NewResourceTemplate("notes://note/{name}", "note", mcp.WithTemplateMIMEType("text/plain")), readNote)
	s.AddPrompt(mcp.NewPrompt("summarize",
		mcp.WithPromptDescription("Ask for a summary of one note"),
		mcp.WithArgument("name", mcp.ArgumentDescription("Name of the note"), mcp.RequiredArgument()),
	), summarize)

	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintf(os.Stderr, "server error: %v\n", err)
		os.Exit(1)
	}
}
