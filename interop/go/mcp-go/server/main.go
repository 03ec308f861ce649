// Command server is a small notes server on mcp-go, over stdio, or with
// -http ADDRESS over streamable HTTP at /mcp and HTTP+SSE at /sse.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	address := flag.String("http", "", "serve over HTTP at this address")
	flag.Parse()
	s := newServer()
	serve := func() error { return server.ServeStdio(s) }
	if *address != "" {
		sse := server.NewSSEServer(s)
		http.Handle("/mcp", server.NewStreamableHTTPServer(s))
		http.Handle("/sse", sse.SSEHandler())
		http.Handle("/message", sse.MessageHandler())
		serve = func() error { return http.ListenAndServe(*address, nil) }
	}
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "server error: %v\n", err)
		os.Exit(1)
	}
}

// newServer returns the server with its tools, resources and prompts.
func newServer() *server.MCPServer {
	s := server.NewMCPServer("notes", "1.0.0",
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithLogging(),
		server.WithElicitation(),
		server.WithRoots(),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{}),
		server.WithResourceCompletionProvider(completer{}),
		server.WithPaginationLimit(3),
		server.WithRecovery(),
	)
	s.EnableSampling()
	readOnly := mcp.WithReadOnlyHintAnnotation(true)
	named := mcp.WithString("name", mcp.Required(), mcp.Description("Name of the note"))
	s.AddTool(mcp.NewTool("search_notes",
		mcp.WithDescription("Find the notes whose text holds a phrase"),
		mcp.WithString("phrase", mcp.Required(), mcp.Description("Text to look for, case-insensitive")),
		mcp.WithNumber("limit", mcp.Description("How many notes to return at most")),
		readOnly,
	), searchNotes)
	s.AddTool(mcp.NewTool("count_words",
		mcp.WithDescription("Count the words of all notes"),
		mcp.WithOutputSchema[count](),
		readOnly,
	), mcp.NewStructuredToolHandler(countWords))
	s.AddTool(mcp.NewTool("check_spelling", mcp.WithDescription("Check the spelling of all notes"), readOnly),
		checkSpelling)
	s.AddTool(mcp.NewTool("summarize_note", mcp.WithDescription("Summarize a note with the client's model"), named,
		readOnly), summarizeNote)
	s.AddTool(mcp.NewTool("pick_note", mcp.WithDescription("Show the note that the user picks"), readOnly), pickNote)
	s.AddTool(mcp.NewTool("list_folders", mcp.WithDescription("List the folders that the client works in"), readOnly),
		listFolders)
	s.AddTool(mcp.NewTool("add_note",
		mcp.WithDescription("Add a note, or change its text"),
		named,
		mcp.WithString("text", mcp.Required()),
		mcp.WithDestructiveHintAnnotation(false),
	), addNote)
	s.AddTool(mcp.NewTool("delete_note", mcp.WithDescription("Delete a note by its name"), named), deleteNote)
	s.AddResource(mcp.NewResource(indexURI, "index", mcp.WithMIMEType("text/plain")), readNote)
	for _, name := range names("") {
		s.AddResource(resource(name), readNote)
	}
	s.AddResourceTemplate(mcp.NewResourceTemplate(noteURI+"{name}", "note", mcp.WithTemplateMIMEType("text/plain")),
		readNote)
	s.AddPrompt(mcp.NewPrompt("summarize",
		mcp.WithPromptDescription("Ask for a summary of one note"),
		mcp.WithArgument("name", mcp.ArgumentDescription("Name of the note"), mcp.RequiredArgument()),
	), summarize)
	return s
}

// What a tool needs of the client it asks for in its result: the SDK sends a
// request of its own to a client that knows no such results.

func summarizeNote(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := req.RequireString("name")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	if answer := server.SamplingResponse(req.Params.InputResponses, "summary"); answer != nil {
		return mcp.NewToolResultText(mcp.GetTextFromContent(answer.Content)), nil
	}
	return server.NewInputRequestBuilder("").Sample("summary", mcp.CreateMessageParams{
		MaxTokens: 100,
		Messages: []mcp.SamplingMessage{
			{Role: mcp.RoleUser, Content: mcp.NewTextContent("Summarize: " + note(name))},
		},
	}).ToolResult(), nil
}

func pickNote(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.ElicitationResponse(req.Params.InputResponses, "note"); answer != nil {
		content, _ := answer.Content.(map[string]any)
		name, _ := content["name"].(string)
		return mcp.NewToolResultText(note(name)), nil
	}
	return server.NewInputRequestBuilder("").Elicit("note", mcp.ElicitationParams{
		Message: "Which note?",
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{"name": map[string]any{"type": "string"}},
			"required":   []string{"name"},
		},
	}).ToolResult(), nil
}

func listFolders(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer := server.RootsResponse(req.Params.InputResponses, "folders")
	if answer == nil {
		return server.NewInputRequestBuilder("").Roots("folders").ToolResult(), nil
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{}}
	for _, root := range answer.Roots {
		result.Content = append(result.Content, mcp.NewTextContent(root.URI))
	}
	return result, nil
}
