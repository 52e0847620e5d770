package daemon

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// noImports makes the types of other packages unknown: this package's own are enough, and fast to check.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.ErrUnsupported }

// TestLoopIsReachedFromItsGoroutineOnly checks that nothing which another goroutine could use has a
// reference to the loop: no function literal, method value, go statement, field or global variable.
func TestLoopIsReachedFromItsGoroutineOnly(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	own, _ := config.Check("daemon", fset, files, &info) // the error is that imports are missing
	isLoop := func(v *types.Var) bool {
		return v != nil && strings.TrimPrefix(types.TypeString(v.Type(), types.RelativeTo(own)), "*") == "loop"
	}
	for id, o := range info.Defs {
		if v, ok := o.(*types.Var); ok && isLoop(v) && (v.IsField() || v.Parent() == own.Scope()) {
			t.Errorf("%s: %s has a reference to the loop", fset.Position(id.Pos()), id.Name)
		}
	}
	uses := 0
	called := map[ast.Expr]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				called[n.Fun] = true
			case *ast.SelectorExpr:
				if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal && !called[n] && isLoop(s.Obj().(*types.Func).Signature().Recv()) {
					t.Errorf("%s: the method value %s has a reference to the loop", fset.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.FuncLit, *ast.GoStmt:
				ast.Inspect(n, func(inner ast.Node) bool {
					id, ok := inner.(*ast.Ident)
					if !ok {
						return true
					}
					if v, ok := info.Uses[id].(*types.Var); ok && isLoop(v) && (v.Pos() < n.Pos() || v.Pos() >= n.End()) {
						t.Errorf("%s: a function literal or go statement has a reference to the loop", fset.Position(id.Pos()))
					}
					return true
				})
			case *ast.Ident:
				if v, ok := info.Uses[n].(*types.Var); ok && isLoop(v) {
					uses++
				}
			}
			return true
		})
	}
	if uses == 0 {
		t.Error("no function uses the loop: this test does not find its type")
	}
}
