// Brings the report to life.
const Page = pageOf(JSON.parse(document.getElementById("audit").textContent));
Tables.begin();
Page.begin();
window.believable = Page; // for tests, and for the curious
