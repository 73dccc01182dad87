// render CHART RELEASE NAMESPACE [VALUES...]: what `helm template` prints, for charts without subcharts and hooks.
// Helm itself is in no Debian package; its template functions are sprig and the few below.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type files map[string][]byte

func (f files) Get(name string) string { return string(f[name]) }

func (f files) Glob(pattern string) files {
	found := files{}
	for name, content := range f {
		if ok, _ := filepath.Match(pattern, name); ok {
			found[name] = content
		}
	}
	return found
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func read(path string) []byte {
	content, err := os.ReadFile(path)
	check(err)
	return content
}

func object(content []byte) map[string]interface{} {
	value := map[string]interface{}{}
	check(yaml.Unmarshal(content, &value))
	return value
}

// As Helm lays values over a chart's: maps are merged, everything else is replaced.
func merge(into, from map[string]interface{}) {
	for key, value := range from {
		below, isMap := value.(map[string]interface{})
		if old, wasMap := into[key].(map[string]interface{}); isMap && wasMap {
			merge(old, below)
		} else {
			into[key] = value
		}
	}
}

func toYaml(value interface{}) string {
	text, err := yaml.Marshal(value)
	check(err)
	return strings.TrimSuffix(string(text), "\n")
}

func main() {
	chart, release, namespace := os.Args[1], os.Args[2], os.Args[3]
	values := object(read(filepath.Join(chart, "values.yaml")))
	for _, file := range os.Args[4:] {
		merge(values, object(read(file)))
	}
	if release == "--values" {
		fmt.Println(toYaml(values))
		return
	}
	about := object(read(filepath.Join(chart, "Chart.yaml")))
	kept := files{}
	for _, pattern := range []string{"files/*", "files/*/*"} {
		paths, err := filepath.Glob(filepath.Join(chart, pattern))
		check(err)
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				name, _ := filepath.Rel(chart, path)
				kept[name] = read(path)
			}
		}
	}
	root := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = toYaml
	functions["fromYaml"] = func(text string) map[string]interface{} { return object([]byte(text)) }
	functions["required"] = func(why string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, fmt.Errorf("%s", why)
		}
		return value, nil
	}
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	root.Funcs(functions)
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	sort.Strings(paths)
	for _, path := range paths {
		_, err := root.New(filepath.Base(path)).Parse(string(read(path)))
		check(err)
	}
	data := map[string]interface{}{
		"Values": values,
		"Files":  kept,
		"Chart": map[string]interface{}{
			"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
		"Release": map[string]interface{}{"Name": release, "Namespace": namespace, "Service": "Helm"},
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out bytes.Buffer
		check(root.ExecuteTemplate(&out, name, data))
		text := strings.TrimSpace(strings.ReplaceAll(out.String(), "<no value>", ""))
		if text != "" {
			fmt.Printf("---\n# Source: %s\n%s\n", name, strings.TrimPrefix(text, "---\n"))
		}
	}
}
