// Command server is a small notes server on the Go SDK, over stdio.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	mu    sync.Mutex // guards notes: handlers run concurrently
	notes = map[string]string{
		"groceries": "Milk, eggs and flour.",
		"travel":    "The train leaves at nine. Pack the blue bag.",
		"ideas":     "Write a shorter readme.",
	}
)

type searchArgs struct {
	Phrase string `json:"phrase" jsonschema:"text to look for, case-insensitive"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many notes to return at most"`
}

func searchNotes(_ context.Context, _ *mcp.CallToolRequest, args searchArgs) (*mcp.CallToolResult, any, error) {
	mu.Lock()
	defer mu.Unlock()
	var found []string
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		if strings.Contains(strings.ToLower(notes[name]), strings.ToLower(args.Phrase)) {
			found = append(found, name+": "+notes[name])
		}
	}
	if args.Limit > 0 && len(found) > args.Limit {
		found = found[:args.Limit]
	}
	if len(found) == 0 {
		found = append(found, "nothing found")
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(found, "\n")}},
	}, nil, nil
}

type count struct {
	Notes int `json:"notes"`
	Words int `json:"words"`
}

func countWords(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, count, error) {
	mu.Lock()
	defer mu.Unlock()
	c := count{Notes: len(notes)}
	for _, text := range notes {
		c.Words += len(strings.Fields(text))
	}
	return nil, c, nil
}

type deleteArgs struct {
	Name string `json:"name" jsonschema:"name of the note"`
}

func deleteNote(_ context.Context, _ *mcp.CallToolRequest, args deleteArgs) (*mcp.CallToolResult, any, error) {
	mu.Lock()
	defer mu.Unlock()
	if _, ok := notes[args.Name]; !ok {
		return nil, nil, fmt.Errorf("there is no note named %q", args.Name)
	}
	delete(notes, args.Name)
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: "deleted " + args.Name}},
	}, nil, nil
}

func readNote(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	mu.Lock()
	defer mu.Unlock()
	uri := req.Params.URI
	text := strings.Join(slices.Sorted(maps.Keys(notes)), "\n")
	if name, ok := strings.CutPrefix(uri, "notes://note/"); ok {
		if text, ok = notes[name]; !ok {
			return nil, mcp.ResourceNotFoundError(uri)
		}
	}
	return &mcp.ReadResourceResult{
		Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}},
	}, nil
}

func summarize(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	mu.Lock()
	defer mu.Unlock()
	text := "Summarize this note: " + notes[req.Params.Arguments["name"]]
	return &mcp.GetPromptResult{
		Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
	}, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "v1.0.0"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "search_notes", Description: "Find the notes whose text holds a phrase", Annotations: readOnly}, searchNotes)
	mcp.AddTool(server, &mcp.Tool{Name: "count_words", Description: "Count the words of all notes", Annotations: readOnly}, countWords)
	mcp.AddTool(server, &mcp.Tool{Name: "delete_note", Description: "Delete a note by its name"}, deleteNote)
	server.AddResource(&mcp.Resource{Name: "index", URI: "notes://index", MIMEType: "text/plain"}, readNote)
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "note", URITemplate: "notes://note/{name}", MIMEType: "text/plain"}, readNote)
	server.AddPrompt(&mcp.Prompt{
		Name:        "summarize",
		Description: "Ask for a summary of one note",
		Arguments:   []*mcp.PromptArgument{{Name: "name", Description: "name of the note", Required: true}},
	}, summarize)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
