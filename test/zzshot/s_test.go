package zzshot

import ("testing";"os";"fmt";"strings";"time";"dyno/test/browser")

// line: name path w h theme [sleep] [click text...]
func TestShot(t *testing.T) {
	br, err := browser.Start(); if err!=nil {t.Fatal(err)}
	defer br.Close()
	raw,_ := os.ReadFile(os.Getenv("SHOTS"))
	t.Run("x", func(t *testing.T){
	b := br.Tab(t, "http://127.0.0.1:8306")
	b.Allow(".*")
	for _, l := range strings.Split(strings.TrimSpace(string(raw)),"\n") {
		f := strings.SplitN(l,"|",7)
		var w,h int64; fmt.Sscan(f[2],&w); fmt.Sscan(f[3],&h)
		b.Size(w,h); if f[4]=="dark" {b.Dark()} else {b.Light()}
		b.Open(f[1]); time.Sleep(2500*time.Millisecond)
		if len(f)>5 && f[5]!="" { for _, c := range strings.Split(f[5],";") { if strings.HasPrefix(c,"css:") {b.Click(c[4:])} else {b.ClickText(c)}; time.Sleep(1500*time.Millisecond)} }
		p := b.Shot(f[0]); os.Rename(p, "/work/wt/u1-data/"+f[0]+".png")
		os.WriteFile("/work/wt/u1-data/"+f[0]+".txt", []byte(b.Text("body")),0o644)
		fmt.Println(f[0], "sideways", b.Sideways(), b.URL())
	}})
}
