module github.com/mcpcheck/mcpcheck/interop/bugs/go/mcp-go

go 1.23.0

require github.com/mark3labs/mcp-go v0.14.0

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
)
