package daemon

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// noImports makes the types of other packages unknown: this package's own are enough, and fast to check.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.ErrUnsupported }

// TestLoopIsReachedFromItsGoroutineOnly checks that other goroutines cannot get a reference to the loop. A
// variable of its type has no other use than l.field and l.method(), and none in a function literal or go
// statement. Fields and global variables do not have its type. It also checks that no l.method()
// is one that waits for the loop; calls through l.shared are not seen.
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
	isUse := func(n ast.Node) bool {
		id, _ := n.(*ast.Ident)
		v, _ := info.Uses[id].(*types.Var)
		return isLoop(v)
	}
	for id, o := range info.Defs {
		if v, ok := o.(*types.Var); ok && isLoop(v) && v.Parent() == own.Scope() {
			t.Errorf("%s: the global variable %s has a reference to the loop", fset.Position(id.Pos()), id.Name)
		}
	}
	waits := []string{"Ask", "reread", "reload", "filesArrived"}
	uses, function := 0, ""
	called, allowed := map[ast.Expr]bool{}, map[ast.Expr]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				function = n.Name.Name
			case *ast.ReturnStmt:
				for _, result := range n.Results {
					allowed[result] = function == "newLoop"
				}
			case *ast.CallExpr:
				called[n.Fun] = true
			case *ast.SelectorExpr:
				allowed[n.X] = true
				if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal && !called[n] && isLoop(s.Obj().(*types.Func).Signature().Recv()) {
					t.Errorf("%s: the method value %s has a reference to the loop", fset.Position(n.Pos()), n.Sel.Name)
				}
				if isUse(n.X) && slices.Contains(waits, n.Sel.Name) {
					t.Errorf("%s: the loop calls %s, which waits for the loop", fset.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.StructType:
				for _, field := range n.Fields.List {
					ast.Inspect(field.Type, func(inner ast.Node) bool {
						if id, ok := inner.(*ast.Ident); ok && id.Name == "loop" {
							t.Errorf("%s: a field has a reference to the loop", fset.Position(id.Pos()))
						}
						return true
					})
				}
			case *ast.FuncLit, *ast.GoStmt:
				ast.Inspect(n, func(inner ast.Node) bool {
					if isUse(inner) {
						if v := info.Uses[inner.(*ast.Ident)]; v.Pos() < n.Pos() || v.Pos() >= n.End() {
							t.Errorf("%s: a function literal or go statement has a reference to the loop", fset.Position(inner.Pos()))
						}
					}
					return true
				})
			case *ast.Ident:
				if !isUse(n) {
					break
				}
				if uses++; !allowed[n] {
					t.Errorf("%s: the loop is used as a value, which another goroutine could get", fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	if uses == 0 {
		t.Error("no function uses the loop: this test does not find its type")
	}
}
